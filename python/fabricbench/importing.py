"""Import of measured results into a workspace: one trial for each row of a benchmark's output.

`import_results` reads a file and stores its trials, all of them or none: the whole file is parsed first and
its trials become visible together. `count_results` stores nothing. `plan_sizes` returns the sizes with which
a plan simulates a measurement, `pooled_jobs` the number of jobs that together run the measured operation.
`Source` is a file, `Options` are those of the user, `Imported` is the result. For `explain` this file also
has `read_facts` (reads a file), `switch_counters` (reads counters of switches and hosts) and `fabric_of` (the
`Fabric` of a file).
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabricbench.inputs import read_input
from fabricbench.measured import file_facts
from fabricbench.measured.causes.evidence import (
    AS_EXPECTED as AS_EXPECTED,  # noqa: PLC0414 -- callers show it
    CONFIDENCE as CONFIDENCE,  # noqa: PLC0414
    Suspect as Suspect,  # noqa: PLC0414
)
from fabricbench.measured.causes.ranking import suspects as suspects  # noqa: PLC0414
from fabricbench.measured.causes.switch_counters import (
    has_port as has_port,  # noqa: PLC0414
    missing_loads as missing_loads,  # noqa: PLC0414
)
from fabricbench.measured.errors import MeasuredError as MeasuredError  # noqa: PLC0414 -- callers catch it
from fabricbench.measured.file_facts import FileFacts as FileFacts  # noqa: PLC0414
from fabricbench.measured.model import (
    Reading,
    Row,
    Table as Table,  # noqa: PLC0414
    UserFacts as UserFacts,  # noqa: PLC0414
)
from fabricbench.measured.nccl_tests.output import COLLECTIVES
from fabricbench.measured.rule_input import (
    Hardware as Hardware,  # noqa: PLC0414
    Point as Point,  # noqa: PLC0414
    RuleInput as RuleInput,  # noqa: PLC0414
)
from fabricbench.measured.runs import described as described  # noqa: PLC0414
from fabricbench.measured.switches.model import (
    Change as Change,  # noqa: PLC0414
    Reading as SwitchReading,
    SwitchCounters as SwitchCounters,  # noqa: PLC0414
    compared,
    totals as totals,  # noqa: PLC0414
)
from fabricbench.measured.switches.ports import PORT_PATTERNS as PORT_PATTERNS  # noqa: PLC0414
from fabricbench.plan.engine import shares
from fabricbench.plan.expand import PlannedTrial
from fabricbench.plan.fields.quantities import LABEL_LENGTH_MAX, UnitError, parse_line
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.results.job_reports import result_rows
from fabricbench.store import Trial, TrialFacts, Workspace
from fabricbench.store.catalog.trial import IMPORTED, to_json
from fabricbench.store.record.writer import ReadyTrial, finish_together
from fabricbench.words import counted
from fabricbench.work import nccl_text, pattern_of

if TYPE_CHECKING:
    import pyarrow as pa


FORMATS = ("nccl-tests", "perftest", "osu", "imb", "nccom-test", "nccl-inspector")
"""Names of the formats; `fabricbench.measured` reads them."""
PROGRAMS: dict[str, str] = {collective_name: f"{name}_perf" for name, collective_name in COLLECTIVES.items()}
"""For each collective of a plan that nccl-tests has, its program."""
MAX_STORED_TEXT, MAX_STORED_TEXTS = 64 << 10, 4 << 20
"""Most characters of a file stored with each of its trials, and with all of them together."""
_SIZE_MAX = (1 << 63) - 1
_RESULT_FIELDS = (
    "time_us",
    "time_us_min",
    "time_us_max",
    "rank_us_min",
    "rank_us_max",
    "gb_per_s",
    "iterations",
    "wrong",
    "values",
)
"""Fields of a row that the summary of a trial stores."""
_RANKS_MAX = 1 << 24
_ABOVE_IDEAL = 101.0
"""Percent of the ideal above which rounding is no explanation: benchmarks print three digits or more."""


@dataclass(frozen=True)
class Source:
    """A file of measured results: its name in messages, and its bytes."""

    name: str
    data: bytes

    @classmethod
    def of(cls, path: Path, holds: str = "the output of a benchmark", bytes_max: int | None = None) -> Source:
        """Read a file, unless it is larger than any that can be read.

        Args:
            path: The file.
            holds: The expected content, for the hint of an error.
            bytes_max: Most bytes that can be read; by default the limit of an import.

        Raises:
            MeasuredError: It cannot be read.
        """
        from fabricbench.measured.file_text.document import MAX_FILE_BYTES

        try:
            return cls(str(path), read_input(path, bytes_max or MAX_FILE_BYTES))
        except OSError as error:
            hint = f"name a file with {holds}"
            raise MeasuredError(str(path), None, error.strerror or str(error), "a file", hint) from error


@dataclass(frozen=True)
class Options:
    """Options of the user for the import of a file.

    Attributes:
        format: One of `FORMATS`; none to detect it.
        name: Name of the trials in place of a plan's; empty for the name of the benchmark.
        tag: A label to find them again.
        user_facts: Ranks and benchmark where the output lacks them.
        plan: The plan that simulates the measurement; the trials then have its name and their percentage of
            its ideal. None without one.
    """

    format: str | None = None
    name: str = ""
    tag: str = ""
    user_facts: UserFacts = field(default_factory=UserFacts)
    plan: LoadedPlan | None = None


@dataclass(frozen=True)
class Imported:
    """Result of the import of a file.

    Attributes:
        format: Its format.
        trials: Its trials, in the order of its rows.
        warnings: Parts of the file that were left out, with the line.
    """

    format: str
    trials: Sequence[Trial]
    warnings: Sequence[str]


def import_results(workspace: Workspace, source: Source, options: Options | None = None) -> Imported:
    """Read a file and store a trial for each of its results: all of them or none.

    A file that is imported again replaces its earlier trials.

    Args:
        workspace: Stores the trials.
        source: The file.
        options: Options of the user.

    Raises:
        MeasuredError: The file cannot be read, or the plan simulates another operation.
        StoreError: The workspace cannot be written, or the disk is full.
    """
    from fabricbench.measured.reading import read

    options = options or Options()
    file_options = replace(options, name=_label("--name", options.name), tag=_label("--tag", options.tag))
    reading = read(source.name, source.data, file_options.format, file_options.user_facts)
    trial_parts = list(_trials(source, reading, file_options))
    _store(workspace, trial_parts)
    trials = _stored(workspace, [facts for facts, _, _ in trial_parts])
    notes = dict.fromkeys(f"{source.name}: {note}" for trial in trials for note in trial.notes)
    return Imported(reading.format, trials, [*reading.warnings, *_run_warnings(source, reading), *notes])


def _run_warnings(source: Source, reading: Reading) -> Iterator[str]:
    """Yield the settings in which runs of a benchmark differ, for runs that have only a number as name."""
    for table in reading.tables:
        if table.run.startswith("run"):
            yield f"{source.name}:{table.line}: {table.run} of {table.benchmark}: {described(table.differs)}"


def _label(option: str, text: str) -> str:
    """Read a name or tag, which tables show next to the trials, by the rules for the tag of a plan.

    Raises:
        MeasuredError: It has several lines or is too long.
    """
    hint = "choose a few words"
    if len(text) > LABEL_LENGTH_MAX:
        length, allowed = f"{len(text):,} characters", f"at most {LABEL_LENGTH_MAX} characters"
        raise MeasuredError(option, None, length, allowed, hint)
    try:
        return parse_line(text)
    except UnitError as error:
        raise MeasuredError(option, None, error.found, error.allowed, hint) from error


def _stored(workspace: Workspace, trial_facts: Sequence[TrialFacts]) -> list[Trial]:
    """Return the trials as the workspace has them now, run by run."""
    firsts = {facts.suite: facts.id for facts in reversed(trial_facts)}
    members = [trial for first in firsts.values() for trial in workspace.suite(workspace.find(first))]
    trials_by_id = {trial.id: trial for trial in members}
    return [trials_by_id[facts.id] for facts in trial_facts]


def plan_sizes(loaded: LoadedPlan, trials: Sequence[Trial]) -> tuple[str, list[int]]:
    """Return the sizes with which a plan simulates a measurement.

    Returns:
        Kind of size that the plan sweeps, `data` or `message`, and the sizes of that kind [bytes].
    """
    kind = loaded.trials[0].size_kind
    shares_by_data_size = {
        trial.results[0]["data_size_bytes"] // pooled_jobs(trial): shares(
            trial.results[0]["collective"], trial.results[0]["ranks"] // pooled_jobs(trial)
        )
        for trial in trials
    }
    sizes = (size // share if kind == "message" else size for size, share in shares_by_data_size.items())
    return kind, sorted({size for size in sizes if size})


def pooled_jobs(trial: Trial) -> int:
    """Return the number of jobs of the plan that together run the operation of a measured trial."""
    return int(trial.facts.run_spec["jobs"][0].get("pooled_jobs", 1))


def count_results(source: Source, options: Options) -> int:
    """Return the number of results of a file; nothing is stored.

    Raises:
        MeasuredError: The file cannot be read, or the plan simulates another operation.
    """
    from fabricbench.measured.reading import read

    reading = read(source.name, source.data, options.format, options.user_facts)
    return sum(1 for _ in _trials(source, reading, options))


@dataclass(frozen=True)
class Fabric:
    """The fabric with which a file is compared.

    Attributes:
        plan: Name of the plan; empty without a plan.
        hardware: Adapters of the hosts.
        values: For each data size, bus bandwidths of its trials [GB/s].
        choices: For each data size, NCCL's choice in a trial; without sizes at which NCCL has none.
        trials: Number of these trials.
        candidates: Plans of the workspace that fit, if there are several.
    """

    plan: str = ""
    hardware: Hardware = field(default_factory=Hardware)
    values: Mapping[int, Sequence[float]] = field(default_factory=dict)
    choices: Mapping[int, str] = field(default_factory=dict)
    trials: int = 0
    candidates: Sequence[str] = ()

    @property
    def ranges(self) -> dict[int, tuple[float, float]]:
        """For each data size, least and most bus bandwidth of its trials [GB/s]."""
        return {size: (min(values), max(values)) for size, values in self.values.items()}


def switch_counters(paths: Sequence[Path], before: Sequence[Path] = ()) -> list[SwitchCounters]:
    """Read the counters of switches and hosts, one file for each device; see `counters_of`.

    Args:
        paths: Tables of SONiC, dumps of its COUNTERS_DB, OpenConfig, or counters of a host.
        before: An earlier file for each of them; the counters are then differences. Empty without any.

    Raises:
        MeasuredError: A file cannot be read or has no counters, or the number of earlier files is another.
    """
    from fabricbench.measured.switches.reading import MAX_FILE_BYTES

    sources, earlier = (
        [Source.of(path, "counters", MAX_FILE_BYTES) for path in files] for files in (paths, before)
    )
    return counters_of(sources, earlier)


def counters_of(sources: Sequence[Source], before: Sequence[Source] = ()) -> list[SwitchCounters]:
    """Return the counters in files, as differences to an earlier file for each of them if there are any.

    Raises:
        MeasuredError: A file has no counters, or the number of earlier files is another.
    """
    from fabricbench.measured.switches.reading import read

    def reading(source: Source) -> SwitchReading:
        return read(source.name, source.data)

    if before and len(before) != len(sources):
        file_count, expected = (
            counted(len(before), "file"),
            f"{len(sources)}: one for each file of counters, in their order",
        )
        raise MeasuredError("--before", None, file_count, expected, "give it again for each, or not at all")
    counters = [
        compared(reading(source), reading(before[index]) if before else None)
        for index, source in enumerate(sources)
    ]
    names = Counter(switch.switch for switch in counters)
    return [
        replace(switch, switch=f"{switch.switch} ({switch.file})") if names[switch.switch] > 1 else switch
        for switch in counters
    ]


def read_facts(
    source: Source, format_name: str | None = None, user_facts: UserFacts | None = None
) -> FileFacts:
    """Read the results and the logged facts of a file, for `explain FILE`.

    Raises:
        MeasuredError: It is neither a benchmark's output nor NCCL's log, or a row of it is malformed.
    """
    return file_facts.read_facts(source.name, source.data, format_name, user_facts)


def fabric_of(
    file_facts: FileFacts, hardware: Hardware, loaded: LoadedPlan | None, workspace: Workspace | None
) -> Fabric:
    """Return the fabric of a measurement: the given plan, or the one plan of the workspace that fits.

    A plan fits if its simulated trials run a collective of the file with as many ranks, in one job or in all
    of their jobs together.

    Args:
        file_facts: Content of the file.
        hardware: Adapters of the hosts by the user; they take precedence over the plan.
        loaded: The given plan; none to search the workspace.
        workspace: The workspace; none if there is none.
    """
    measured_jobs = {(table.collective, table.ranks) for table in file_facts.tables}
    by_plan: dict[str, list[tuple[int, float, str]]] = {}
    for trial in workspace.trials(states=("complete",)) if workspace and measured_jobs else ():
        is_another = loaded is not None and trial.facts.plan != loaded.plan.name
        if trial.is_printed or trial.facts.backend == "hosts" or is_another:
            continue
        by_plan.setdefault(trial.facts.plan, []).extend(_bandwidths(trial, measured_jobs))
    fitting = {name: results for name, results in by_plan.items() if results}
    if loaded is None and len(fitting) != 1:
        return Fabric(hardware=hardware, candidates=sorted(fitting))
    name = loaded.plan.name if loaded else next(iter(fitting))
    results = fitting.get(name, [])
    values: dict[int, list[float]] = {}
    for size, value, _ in results:
        values.setdefault(size, []).append(value)
    choices = {size: choice for size, _, choice in results if choice}
    return Fabric(name, _hardware(hardware, loaded), values, choices, len(results))


def _bandwidths(trial: Trial, measured_jobs: Collection[tuple[str, int]]) -> Iterator[tuple[int, float, str]]:
    """Yield data size, bus bandwidth and NCCL's choice of each matching job, else of all jobs together."""
    rows = trial.results
    timed_rows = [row for row in rows if row.get("busbw_gb_per_s") and row.get("completion_time_ms")]
    of_job = [row for row in timed_rows if (row["collective"], row["ranks"]) in measured_jobs]
    choices = {job["name"]: nccl_text(job) for job in trial.facts.run_spec["jobs"]}
    for row in of_job:
        yield row["data_size_bytes"], row["busbw_gb_per_s"], choices.get(row["job"], "")
    kinds = {row["collective"] for row in timed_rows}
    ranks = sum(row["ranks"] for row in timed_rows)
    if (
        not of_job
        and len(timed_rows) == len(rows)
        and len(kinds) == 1
        and (next(iter(kinds)), ranks) in measured_jobs
    ):
        duration_ms = max(row["completion_time_ms"] for row in timed_rows)
        mb_moved = sum(row["busbw_gb_per_s"] * row["completion_time_ms"] for row in timed_rows)
        yield sum(row["data_size_bytes"] for row in timed_rows), mb_moved / duration_ms, ""


def _hardware(stated: Hardware, loaded: LoadedPlan | None) -> Hardware:
    """Return the adapters of the hosts: values of the user, and the plan's where the user gives none."""
    if loaded is None:
        return stated
    fabric: Mapping[str, Any] = loaded.trials[0].run_spec["fabric"]
    topology, server = fabric["topology"], fabric.get("server")
    adapters = int(topology.get("rails", 1)) * int(topology.get("planes", 1))
    adapters = server["adapters"] if server else adapters
    rate = topology["host_link"]["rate_bps"] / 1e9
    return Hardware(
        stated.adapters or adapters, stated.rate_gbps or rate, stated.source or f"plan {loaded.plan.name}"
    )


_TrialParts = tuple["TrialFacts", dict[str, Any], dict[str, Any]]
"""Facts, summary and machine of a trial."""


def _store(workspace: Workspace, trial_parts: Sequence[_TrialParts]) -> None:
    with ExitStack() as stack:
        ready: list[ReadyTrial] = []
        for facts, summary, machine in trial_parts:
            writer = stack.enter_context(workspace.begin(facts, machine))
            tables = writer.close()
            rows = result_rows(facts, summary, tables)
            notes = [*summary.get("notes", ()), *_notes(facts, rows)]
            final_summary = summary | {"notes": notes} if notes else summary
            ready.append(writer.ready(final_summary, {}, writer.written(rows)))
        finish_together(workspace, ready)


def _notes(facts: TrialFacts, rows: pa.Table) -> Iterator[str]:
    """Yield a note if the measurement is above the ideal of the plan's ports."""
    (percent,) = rows.column("ideal_percent").to_pylist() or (None,)
    if percent is not None and percent > _ABOVE_IDEAL:
        yield (
            f"{percent:.0f} % of the ideal of plan {facts.plan}: it has fewer or slower ports than what "
            "was measured, or leaves out links within servers: `fabric.server` counts all adapters and GPUs"
        )


def _trials(source: Source, reading: Reading, options: Options) -> Iterator[_TrialParts]:
    """Yield the trials of a file; tests of one benchmark with equal ranks form one suite."""
    iterations: Counter[tuple[object, ...]] = Counter()
    positions: Counter[str] = Counter()
    digest = hashlib.sha256(source.data).hexdigest()
    for table in reading.tables:
        port = _port(source, table, options.plan if table.is_judged else None)
        name = _name(table, reading.tables, options)
        differs = described(table.differs)
        run = (table.benchmark, table.ranks, table.part, differs)
        suite = _short_hash(
            f"{digest}\n{table.benchmark}\n{table.ranks}\n{name}\n{options.tag}{table.part}{differs}"
        )
        for row in table.rows:
            key = (*run, row.size_bytes, row.placement)
            spec = _spec(source, digest, reading, table, row, port)
            facts = _facts(
                reading, table, row, spec, (name, suite, options.tag), iterations[key], positions[suite]
            )
            iterations[key] += 1
            positions[suite] += 1
            yield facts, _summary(table, row), dict(table.facts)


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _name(table: Table, tables: Sequence[Table], options: Options) -> str:
    """Return the name of a table in place of a plan's name; tests that cannot be compared differ in it."""
    same_benchmark = [other for other in tables if other.benchmark == table.benchmark]
    if options.plan is not None and not options.name:
        return "-".join([options.plan.plan.name, *([] if table.is_judged else [table.run])])
    benchmarks = {other.benchmark for other in tables}
    parts = [options.name] if options.name else []
    parts += [table.benchmark] if not options.name or len(benchmarks) > 1 else []
    parts += [str(table.ranks)] if len({other.ranks for other in same_benchmark}) > 1 else []
    parts += [table.part] if table.part and len({other.part for other in same_benchmark}) > 1 else []
    parts += [table.run] if table.run else []
    return "-".join(parts)


@dataclass(frozen=True)
class _Port:
    """The port of a rank, as a plan has it.

    Attributes:
        shares: Whether no single ideal exists: several ranks share a port, or also have a link between them.
        jobs: Number of jobs of the plan, each on its own ports, that together run the measured operation.
        spec: The parts of a RunSpec that determine the capacity of the port; empty without a plan.
        places: Host and GPU of each rank on servers; empty otherwise.
        algorithms: NCCL's algorithm in the plan's trials by data size; empty without servers.
    """

    shares: bool = False
    jobs: int = 1
    spec: Mapping[str, Any] = field(default_factory=dict)
    places: Mapping[str, Any] = field(default_factory=dict)
    algorithms: Mapping[int, str] = field(default_factory=dict)

    def algorithm(self, row: Row) -> dict[str, str]:
        """Return the algorithm on which the ideal of a result depends: that of its log, else of the plan.

        The plan's is that of the trial of the nearest size.
        """
        if not self.places:
            return {}
        if name := _ALGORITHMS.get(str(row.values.get("algorithm"))):
            return {"assumed_algorithm": name}
        nearest = min(self.algorithms, key=lambda size: abs(math.log(size / max(1, row.size_bytes))))
        return {"assumed_algorithm": self.algorithms[nearest]}


_ALGORITHMS: Final = {"Ring": "ring", "Tree": "tree", "NVLS": "nvls", "NVLSTree": "nvls-tree"}
"""Algorithms of plans by NCCL's names."""
_BY_RINGS = ("all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce")
"""Collectives whose bus bandwidth equals the rate of a ring at each port, for any number of ranks."""


def _port(source: Source, table: Table, loaded: LoadedPlan | None) -> _Port:
    """Return the port of the plan's fabric from which the ideal is computed.

    Either one job of the plan runs the measured operation, or all jobs together do, such as one ring for each
    rail.

    Raises:
        MeasuredError: Neither is so.
    """
    if loaded is None:
        return _Port()
    trials = [trial for trial in loaded.trials if not trial.is_solo]
    for trial in trials:
        for job in trial.run_spec["jobs"]:
            if pattern_of(job)["collective"] == table.collective and len(job["hosts"]) == table.ranks:
                algorithms = {
                    other.data_size_bytes: pattern_of(same)["algorithm"]
                    for other in trials
                    for same in other.run_spec["jobs"]
                    if same["name"] == job["name"]
                }
                shares_ports = _shares_ports(trial, job["hosts"])
                return _Port(shares_ports, 1, _port_spec(trial), _places(job), algorithms)
    for trial in trials:
        jobs = trial.run_spec["jobs"]
        if _is_whole(jobs, table):
            hosts = [host for job in jobs for host in job["hosts"]]
            is_one = table.collective in _BY_RINGS and len(set(hosts)) == len(hosts)
            shares = not is_one or any(_shares_ports(trial, job["hosts"]) for job in jobs)
            return _Port(shares, len(jobs), _port_spec(trial))
    described_jobs = [
        (pattern_of(job)["collective"], len(job["hosts"])) for job in trials[0].run_spec["jobs"]
    ]
    texts = list(dict.fromkeys(f"{collective} of {ranks} ranks" for collective, ranks in described_jobs))
    if len(described_jobs) > 1 and len({collective for collective, _ in described_jobs}) == 1:
        ranks = sum(ranks for _, ranks in described_jobs)
        texts.append(f"{described_jobs[0][0]} of {ranks} ranks, all jobs together")
    measured_job = f"{table.collective} of {table.ranks} ranks"
    expected = f"what plan {loaded.plan.name} has: {', '.join(texts)}"
    hint = (
        f"name a plan with a job of {table.ranks} ranks, or with several that have as many together, such as "
        "one for each rail"
    )
    raise MeasuredError(source.name, table.line, measured_job, expected, hint)


def _is_whole(jobs: Sequence[Mapping[str, Any]], table: Table) -> bool:
    """Whether the jobs of a trial start at once and together run the measured operation."""
    kinds = {(pattern_of(job)["collective"], job.get("start_ps", 0)) for job in jobs}
    ranks = sum(len(job["hosts"]) for job in jobs)
    return len(kinds) == 1 and ranks == table.ranks and pattern_of(jobs[0])["collective"] == table.collective


def _shares_ports(trial: PlannedTrial, hosts: Sequence[int]) -> bool:
    """Whether ranks of a job share a host port, or a server with a link that scales up.

    Servers with adapters have an ideal of their own.
    """
    if trial.run_spec["fabric"].get("server"):
        return False
    topology: Mapping[str, Any] = trial.run_spec["fabric"]["topology"]
    servers = [host // topology["rails"] for host in hosts] if topology.get("scale_up_link") else hosts
    return len(set(hosts)) < len(hosts) or len(set(servers)) < len(servers)


def _places(job: Mapping[str, Any]) -> dict[str, Any]:
    return {name: job[name] for name in ("hosts", "gpus")} if "gpus" in job else {}


def _port_spec(trial: PlannedTrial) -> dict[str, Any]:
    fabric, transport = trial.run_spec["fabric"], trial.run_spec["transport"]
    rate_bps = fabric["topology"]["host_link"]["rate_bps"]
    servers = {name: fabric[name] for name in ("server", "shared_memory")} if fabric.get("server") else {}
    return {
        "fabric": {
            "topology": {"host_link": {"rate_bps": rate_bps}},
            "link_layer": fabric["link_layer"],
            **servers,
        },
        "transport": {"mtu_bytes": transport["mtu_bytes"]},
    }


def _spec(
    source: Source, digest: str, reading: Reading, table: Table, row: Row, port: _Port
) -> dict[str, Any]:
    """Return the run specification of a measured trial: the measurement, its job and its port."""
    measured = {
        "format": reading.format,
        "benchmark": table.benchmark,
        "version": table.version,
        "command": table.command,
        "file": Path(source.name).name,
        "sha256": digest,
        "line": row.line,
        "placement": row.placement,
        "facts": dict(table.facts),
    }
    job = {
        "name": table.benchmark,
        "collective": table.collective,
        "algorithm": None,
        "ranks": table.ranks,
        "data_bytes": _data_bytes(source, table, row),
        "shares_ports": port.shares,
        **port.places,
        **port.algorithm(row),
    } | ({"pooled_jobs": port.jobs} if port.jobs > 1 else {})
    return {"measured": measured, "jobs": [job], **port.spec}


def _data_bytes(source: Source, table: Table, row: Row) -> int:
    """Return the data size of a result, as a plan of that message size has it.

    Raises:
        MeasuredError: It is above the limits of the store.
    """
    has_shares = table.size_kind == "message" and table.ranks <= _RANKS_MAX
    size = row.size_bytes * (shares(table.collective, table.ranks) if has_shares else 1)
    if size > _SIZE_MAX or table.ranks > _RANKS_MAX:
        size_text = f"{row.size_bytes} bytes of {table.ranks} ranks"
        expected = f"less than 2^63 bytes of at most {_RANKS_MAX:,} ranks"
        raise MeasuredError(source.name, row.line, size_text, expected, "mend the line, or say --ranks N")
    return size


def _facts(
    reading: Reading,
    table: Table,
    row: Row,
    spec: dict[str, Any],
    labels: tuple[str, str, str],
    iteration: int,
    position: int,
) -> TrialFacts:
    name, suite, tag = labels
    program = f"{reading.format} {table.version}".strip()
    of_run = f", {described(table.differs)}" if table.differs else ""
    return TrialFacts(
        id=_short_hash(f"{to_json(spec)}\n{table.line}\n{position}{of_run}"),
        plan=name,
        title=f"{table.benchmark}, {table.ranks} ranks, measured{of_run}",
        plan_source=_source_text(reading),
        overrides=(),
        suite=suite,
        position=position,
        variant=row.placement or "base",
        iteration=iteration,
        data_size_bytes=row.size_bytes,
        size_kind=table.size_kind,
        tag=tag,
        run_spec=spec,
        published=None,
        criteria=(),
        backend=IMPORTED,
        backend_version=program,
        engine_version=program,
    )


def _source_text(reading: Reading) -> str:
    rows = sum(len(table.rows) for table in reading.tables)
    most = min(MAX_STORED_TEXT, MAX_STORED_TEXTS // rows)
    return reading.text if len(reading.text) <= most else f"{reading.text[:most]}\n... (cut)"


def _summary(table: Table, row: Row) -> dict[str, Any]:
    """Return the summary of a measured trial in the form of a backend's summary."""
    count = f"{row.wrong:,} " if row.wrong and row.wrong > 1 else ""
    reason = f"its own check found {count}wrong values" if row.wrong else ""
    status = "incomplete" if row.wrong else "complete"
    result = asdict(row)
    return {
        "status": status,
        "jobs": [{"name": table.benchmark, "status": status, "reason": reason}],
        "result": {name: result[name] for name in _RESULT_FIELDS},
    }
