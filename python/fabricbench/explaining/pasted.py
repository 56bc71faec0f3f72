"""Explains pasted files: sorts results, counters, a switch configuration and a plan, and returns one object.

The object has the content of `explain FILE --format json` and the parts of its page: title, verdict, answers,
table, notes and figure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from fabricbench.explaining.files import explanation_of
from fabricbench.explaining.options import FileOptions, check_uplinks, hardware_of
from fabricbench.explaining.page import BANDWIDTH, explanation_page
from fabricbench.explaining.text import explanation_object
from fabricbench.importing import MeasuredError, Source, UserFacts, counters_of, read_facts
from fabricbench.plan.cluster import Cluster, default_topology, option_problem
from fabricbench.plan.devices.fragment import Fragment
from fabricbench.plan.devices.nccl_graphs import graphs_of
from fabricbench.plan.devices.read import SONIC, ReadOptions, read_device
from fabricbench.plan.devices.switch_config import override_of
from fabricbench.plan.jobs.library import NCCL_VERSION
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.report.documents.table import Note, Table
from fabricbench.report.html.page_parts import PlotPart
from fabricbench.runner import loading

_PLAN: Final = re.compile(rb"(?m)^fabricbench:\s*\d")
_CONFIGURATION: Final = re.compile(rb'"(?:PORT|BUFFER_POOL|BUFFER_PROFILE|PORT_QOS_MAP|WRED_PROFILE)["|]')
"""Tables of SONiC's CONFIG_DB, also in a dump of Redis."""
_GRAPHS: Final = re.compile(rb"(?m)^\s*<graphs\b")


@dataclass(frozen=True)
class Given:
    """Values that the user gives with the files.

    Attributes:
        cluster: A shipped server; empty without a cluster.
        servers: Number of servers.
        topology: Kind of the fabric of the cluster; empty for the default.
        nccl: Version of NCCL; empty for that of the log.
        plan: A shipped plan; empty without one.
        rate: Rate of an adapter; empty if not known.
        adapters: Adapters of a host; none if not known.
        ranks: Number of ranks, if the files do not state it.
        benchmark: Name of the benchmark, if the files do not state it.
        uplinks: Ports of switches towards the next tier, or patterns of them.
    """

    cluster: str = ""
    servers: int | None = None
    topology: str = ""
    nccl: str = ""
    plan: str = ""
    rate: str = ""
    adapters: int | None = None
    ranks: int | None = None
    benchmark: str = ""
    uplinks: Sequence[str] = ()

    @property
    def facts(self) -> UserFacts:
        """Ranks and benchmark."""
        return UserFacts(self.ranks, self.benchmark)


@dataclass
class _Sorted:
    """Files by their kind."""

    results: list[Source]
    counters: list[Source]
    configurations: list[Source]
    plans: list[Source]
    graphs: list[Source]


def explained(files: Sequence[Source], before: Sequence[Source], given: Given) -> dict[str, Any]:
    """Explain results next to the other files.

    Args:
        files: Results, counters, the configuration of a switch, a plan, NCCL's graphs of a host; each
            detected by its content.
        before: Earlier counters, one file for each of counters.
        given: Values of the user.

    Raises:
        MeasuredError: A file cannot be read, or there are no results, or several tables of them.
        PlanError: The plan, the cluster, the configuration or a value is not allowed.
    """
    by_kind = _sorted(files, given.facts)
    if not by_kind.results:
        raise MeasuredError(
            files[0].name,
            None,
            "no results",
            "the output of a benchmark, or NCCL's log",
            "add what nccl-tests, perftest or NCCL printed; the other files say more about it",
        )
    of_run = _of_one_run(by_kind.results, given.facts)
    configuration = _only(by_kind.configurations, "configurations", "that of one switch")
    fragment = None
    if configuration is not None:
        fragment = read_device(configuration.data, configuration.name, ReadOptions(format=SONIC))
    graphs = _only(by_kind.graphs, "graphs", "those of one host")
    switches = counters_of(by_kind.counters, before)
    check_uplinks(switches, given.uplinks)
    options = FileOptions(
        _plan(by_kind.plans, given, fragment),
        _cluster(given, fragment),
        bool(given.nccl),
        given.facts,
        hardware_of(given.adapters, given.rate or None),
        switches,
        given.uplinks,
        [] if graphs is None else graphs_of(graphs.data, graphs.name),
    )
    explanation = explanation_of(_joined(of_run), options, None)
    page = explanation_page(explanation)
    parts = [part for section in page.sections[:1] for part in section.parts]
    plots = [part.plot for part in parts if isinstance(part, PlotPart)]
    tables = [part for part in parts if isinstance(part, Table)]
    inputs = [(of_run[0], "results", page.focus.partition(": ")[2])]
    inputs += [(source, "results", "log of the run") for source in of_run[1:]]
    inputs += [
        (source, "counters", f"{switch.switch}: {', '.join(switch.forms)}")
        for source, switch in zip(by_kind.counters, switches, strict=True)
    ]
    inputs += [(source, "earlier counters", "") for source in before]
    inputs += [(source, "plan", explanation.fabric.plan) for source in by_kind.plans]
    inputs += [
        (source, "graphs", ", ".join(graph.name for graph in options.graphs)) for source in by_kind.graphs
    ]
    if configuration is not None and fragment is not None:
        inputs.append((configuration, "configuration", "; ".join(fragment.read)))
    return explanation_object(explanation) | {
        "title": page.title,
        "verdict": page.verdict,
        "tone": page.tone,
        "answers": [
            {"question": answer.question, "text": answer.text, "about": answer.about}
            for answer in page.answers
            if answer.section == BANDWIDTH
        ],
        "notes": [part.text for part in parts if isinstance(part, Note)],
        "configuration_notes": list(fragment.warnings) if fragment else [],
        "table": asdict(tables[0]) if tables else None,
        "figure": {**json.loads(plots[0].json()), "caption": plots[0].caption} if plots else None,
        "inputs": [{"name": source.name, "kind": kind, "about": about} for source, kind, about in inputs],
    }


def _sorted(files: Sequence[Source], facts: UserFacts) -> _Sorted:
    by_kind = _Sorted([], [], [], [], [])
    for source in files:
        if _PLAN.search(source.data):
            by_kind.plans.append(source)
        elif _CONFIGURATION.search(source.data):
            by_kind.configurations.append(source)
        elif _GRAPHS.search(source.data):
            by_kind.graphs.append(source)
        elif _is_counters(source, facts):
            by_kind.counters.append(source)
        else:
            by_kind.results.append(source)
    return by_kind


def _is_counters(source: Source, facts: UserFacts) -> bool:
    """Return whether a file has counters and no results.

    Raises:
        MeasuredError: It has neither.
    """
    try:
        read_facts(source, user_facts=facts)
    except MeasuredError as no_results:
        try:
            counters_of([source])
        except MeasuredError as no_counters:
            raise (no_results if no_counters.line is None else no_counters) from None
        return True
    return False


def _of_one_run(results: Sequence[Source], facts: UserFacts) -> Sequence[Source]:
    """Return the output of a run: its table, if there is one, and its logs.

    Raises:
        MeasuredError: There are several tables.
    """
    if len(results) == 1:
        return results
    has_table = [bool(read_facts(source, user_facts=facts).tables) for source in results]
    tables = [source for source, has in zip(results, has_table, strict=True) if has]
    _only(tables, "results", "the table of one benchmark, with NCCL's logs of its run")
    return [*tables, *(source for source, has in zip(results, has_table, strict=True) if not has)]


def _joined(of_run: Sequence[Source]) -> Source:
    """Return the output of a run as one file; the table is in front, so that its lines have their numbers."""
    if len(of_run) == 1:
        return of_run[0]
    return Source(" + ".join(source.name for source in of_run), b"\n".join(source.data for source in of_run))


def _only(sources: Sequence[Source], kind: str, allowed: str) -> Source | None:
    """Return the one file of a kind; none without any.

    Raises:
        MeasuredError: There are several.
    """
    if len(sources) > 1:
        names = ", ".join(source.name for source in sources)
        raise MeasuredError(
            sources[1].name, None, f"several files of {kind}: {names}", allowed, "remove the others"
        )
    return next(iter(sources), None)


def _plan(sources: Sequence[Source], given: Given, fragment: Fragment | None) -> LoadedPlan | None:
    """Return the plan that is named or pasted, with the configuration of its switches; may be none."""
    source = _only(sources, "plans", "one")
    if source is None and not given.plan:
        return None
    if given.cluster or (source is not None and given.plan):
        raise option_problem("--plan", "two fabrics", "a cluster, a shipped plan or a pasted plan")
    overrides = [override_of(fragment.record)] if fragment else []
    if source is None:
        loaded = loading.load(given.plan, overrides)
    else:
        loaded = loading.load_text(source.data.decode(errors="replace"), source.name, overrides)
    loading.check_no_search(loaded, "measured results")
    return loaded


def _cluster(given: Given, fragment: Fragment | None) -> Cluster | None:
    if not given.cluster:
        return None
    if given.servers is None:
        raise option_problem("--servers", "nothing", "a number of servers")
    topology = given.topology or default_topology(given.cluster, given.servers)
    cluster = Cluster(given.cluster, given.servers, topology, version=given.nccl or NCCL_VERSION)
    return replace(cluster, config=fragment.record) if fragment else cluster
