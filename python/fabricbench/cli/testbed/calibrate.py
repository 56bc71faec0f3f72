"""The command `calibrate`: measures hosts by point-to-point sweeps, and writes a host profile for plans."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from fabricbench import __version__
from fabricbench.backend.protocol import Backend
from fabricbench.cli.errors import SIGNALLED, bad_value
from fabricbench.cli.options import AuthorityOption, OverridesOption, WorkspaceOption, authority_folder
from fabricbench.cli.output import Format, has_colour, note, write
from fabricbench.cli.progress import display
from fabricbench.cli.testbed.hosts import require_libraries
from fabricbench.cli.testbed.lab import LAB_SCALE, blueprint_of_loaded
from fabricbench.cli.testbed.lab_run import built
from fabricbench.hosts.control.hosts_file import load_hosts
from fabricbench.plan.document.yaml_text import yaml_text
from fabricbench.plan.fields.sizes import SizeRange
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.plan.profile import rate_text, time_text
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.report.output.atomic_files import atomic_file, check_writable_target
from fabricbench.report.output.json_csv import rows_csv
from fabricbench.report.terminal.text_table import render
from fabricbench.results.studies.calibration import Calibration, Fit, Sweeps, calibrated
from fabricbench.runner import calibration_sweeps, loading
from fabricbench.runner.calibration_sweeps import LARGE_BYTES, Options, Pair, default_pairs
from fabricbench.runner.session import Session
from fabricbench.store import Trial, Workspace
from fabricbench.words import close_match_hint, counted

_PAIR: Final = re.compile(r"([^:,\s]+):([^:,\s]+)")
_FACTS: Final = ("kernel", "interface", "driver", "interface_driver", "rdma_device", "rdma_firmware", "mtu")


def calibrate_command(  # noqa: PLR0913, PLR0917 -- one parameter for each option
    plan: Annotated[
        str | None,
        typer.Argument(metavar="[PLAN]", help="The plan whose fabric is between the hosts."),
    ] = None,
    hosts: Annotated[
        Path | None, typer.Option("--hosts", metavar="HOSTS.yaml", help="File of the hosts to measure.")
    ] = None,
    in_lab: Annotated[
        bool,
        typer.Option("--lab", help="Measure the hosts of a lab of PLAN; `--scale` is 1000 by default."),
    ] = False,
    pairs: Annotated[
        str | None,
        typer.Option(
            metavar="A:B,...",
            help="Hosts to measure with each other, by name; each with one far away by default.",
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE.yaml", help="The profile; replaced if it exists."),
    ] = Path("host-profile.yaml"),
    iterations: Annotated[
        int, typer.Option(min=1, max=100, help="Trials of each point, of which the median counts.")
    ] = 3,
    size_max: Annotated[str, typer.Option(metavar="SIZE", help="Largest message.")] = "16MB",
    scale: Annotated[
        int | None, typer.Option(min=1, max=1_000_000, metavar="N", help="Divide every rate of PLAN by N.")
    ] = None,
    overrides: OverridesOption = None,
    workspace: WorkspaceOption = None,
    authority: AuthorityOption = None,
    output: Annotated[Format, typer.Option("--format", help="How to write the parameters.")] = Format.TABLE,
) -> None:
    """Measure message cost, rate, latency and window of hosts, and write a profile that plans use.

    Point-to-point sweeps run between pairs of hosts, one pair after the other, on the hosts of `--hosts` or
    of a lab; without either on the backend of PLAN, such as the simulator. Their trials stay in the
    workspace, tagged `calibrate`. `run PLAN --profile FILE`, or `profile: FILE` in a plan, takes the result.
    """
    if hosts is not None and in_lab:
        raise typer.BadParameter(
            f"found --hosts {hosts} beside --lab, which has hosts of its own; leave one out"
        )
    if plan is None and (hosts is None or scale is not None or in_lab):
        raise typer.BadParameter("found no PLAN; without one, --hosts names what to measure")
    check_writable_target(out)
    loaded, names = _measured_plan(
        plan, hosts, scale or (LAB_SCALE if in_lab else None), overrides or (), in_lab=in_lab
    )
    choice = calibration_sweeps.Options(_host_pairs(pairs, names), iterations, _size(size_max))
    with _hosts_settings(loaded, hosts, in_lab=in_lab) as settings:
        backend = _backend(loaded, settings, authority_folder(workspace, authority))
        measured, trials = _measure(loaded, choice, backend, Workspace.open(workspace, create=True), plan)
    profile = _profile(measured, trials, loaded, iterations, names)
    _write_profile(profile, out)
    if output is Format.JSON:
        write(json.dumps(profile, indent=2))
    else:
        write(_formatted(_rows(profile), output))
    note(f"wrote {out}: `fabricbench run PLAN --profile {out}` uses it")


def _measured_plan(
    plan: str | None, hosts: Path | None, scale: int | None, overrides: Sequence[str], *, in_lab: bool
) -> tuple[LoadedPlan, list[str]]:
    """Return the plan whose fabric is measured, and the names of its hosts.

    Raises:
        PlanError: The plan, or the file of hosts, cannot be as it is.
    """
    option_overrides = [f"scale={scale}"] if scale else []
    option_overrides += ["backend=hosts"] if hosts is not None or in_lab else []
    if hosts is None:
        loaded = loading.load(plan or "", [*overrides, *option_overrides])
        return loaded, [f"host{number}" for number in range(loaded.plan.fabric.host_count)]
    require_libraries()

    names_by_number = {number: host.name for host in load_hosts(hosts).hosts for number in host.plays}
    count = max(names_by_number) + 1
    if plan is None:
        loaded = loading.load_text(
            calibration_sweeps.base_plan(max(count, 2)), "<calibrate>", [*overrides, *option_overrides]
        )
    else:
        loaded = loading.load(plan, [*overrides, *option_overrides])
    hosts_of_plan = loaded.plan.fabric.host_count
    return loaded, [names_by_number.get(number, "") for number in range(min(count, hosts_of_plan))]


def _host_pairs(pairs: str | None, names: Sequence[str]) -> list[Pair]:
    """Return the pairs of hosts by their numbers.

    Raises:
        typer.BadParameter: A pair is none, or names a host that is not there.
    """
    numbers = {name: number for number, name in enumerate(names) if name}
    if len(numbers) < 2:
        raise typer.BadParameter(f"found {counted(len(numbers), 'host')}; two or more are needed")
    if pairs is None:
        host_numbers = list(numbers.values())
        return [
            (host_numbers[first], host_numbers[second]) for first, second in default_pairs(len(host_numbers))
        ]
    host_pairs: list[Pair] = []
    for text in pairs.split(","):
        match = _PAIR.fullmatch(text.strip())
        if match is None or match[1] == match[2]:
            raise bad_value("--pairs", f'"{text.strip()}"', "two hosts, such as host0:host1")
        for name in match.groups():
            if name not in numbers:
                hint = close_match_hint(name, numbers)
                allowed = ", ".join(list(numbers)[:20]) + (f"; {hint}" if hint else "")
                raise bad_value("--pairs", f'host "{name}"', allowed)
        pair = (numbers[match[1]], numbers[match[2]])
        if pair in host_pairs or pair[::-1] in host_pairs:
            raise bad_value("--pairs", f'"{text.strip()}" again', "each pair once")
        host_pairs.append(pair)
    return host_pairs


def _size(text: str) -> int:
    allowed = f"{LARGE_BYTES[1] >> 10}KB or more"
    try:
        size = SizeRange.model_validate({"start": text, "end": text}).start_bytes
    except ValueError as error:
        raise bad_value("--size-max", f'"{text}"', f"a size, {allowed}") from error
    if size < LARGE_BYTES[1]:
        raise bad_value("--size-max", text, allowed)
    return size


@contextmanager
def _hosts_settings(loaded: LoadedPlan, hosts_file: Path | None, *, in_lab: bool) -> Iterator[dict[str, Any]]:
    if not in_lab:
        yield {"hosts": str(hosts_file)} if hosts_file else {}
        return

    with built(blueprint_of_loaded(loaded, scale=1), driver=None) as settings:
        yield settings


def _backend(loaded: LoadedPlan, settings: Mapping[str, Any], authority: Path) -> Backend:
    backend_settings = {**settings, "hosts_authority": str(authority)} if settings else {}
    return loading.backend_of(loaded, backend_settings)


def _measure(
    loaded: LoadedPlan, choice: Options, backend: Backend, store: Workspace, plan: str | None
) -> tuple[Calibration, list[Trial]]:
    """Run the sweeps, and the reference of their latency.

    Raises:
        CalibrationError: A trial is not complete.
        typer.Exit: A signal ended it.
    """
    trials_by_sweep = {}
    for name, sweep in calibration_sweeps.sweeps(loaded, choice):
        note(f"{name}: {counted(len(sweep.trials), 'trial')}")
        trials_by_sweep[name] = _run(sweep, backend, store)
    sweep_results = Sweeps(trials_by_sweep)
    rates = sweep_results.rates()
    link_bps = sweep_results.link_bps(rates)
    fabric = calibration_sweeps.reference(loaded, choice, None if plan else round(link_bps))
    idle = _run(fabric, loading.backend_of(fabric), store)
    return calibrated(sweep_results, link_bps, rates, idle), [
        trial for trials_of_sweep in trials_by_sweep.values() for trial in trials_of_sweep
    ]


def _run(sweep: LoadedPlan, backend: Backend, store: Workspace) -> Sequence[Trial]:
    with display() as listener:
        outcome = Session(store, listener).run(sweep, backend)
    if outcome.stopped_by is not None:
        note("interrupted: no profile is written")
        raise typer.Exit(SIGNALLED + outcome.stopped_by)
    return outcome.trials


def _profile(
    measured: Calibration, trials: Sequence[Trial], loaded: LoadedPlan, iterations: int, names: Sequence[str]
) -> dict[str, Any]:
    """Return the content of the profile's file."""
    from datetime import UTC, datetime

    hosts = _host_facts(trials)
    errors = [error for host in hosts if (error := host.get("clock_error_ns")) is not None]
    provenance = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "fabricbench": __version__,
        "backend": trials[0].facts.backend,
        "plan": loaded.plan.name,
        "scale": loaded.plan.scale,
        "iterations": iterations,
    }
    if errors:
        provenance["clock_error_ns"] = max(errors)
    rows = [{**row.values, "from": names[row.hosts[0]], "to": names[row.hosts[1]]} for row in measured.rows]
    return {
        "fabricbench_profile": 1,
        "made": provenance,
        "hosts": hosts,
        "parameters": _parameters(measured),
        "sweeps": rows,
    }


def _parameters(measured: Calibration) -> dict[str, Any]:
    def parameter_entry(fit: Fit, value: Any) -> dict[str, Any]:
        from statistics import median

        return {
            "value": value,
            "residual_median": round(100 * median(fit.residuals), 3),
            "residual_max": round(100 * max(fit.residuals), 3),
            "samples": len(fit.residuals),
            "basis": fit.basis,
        }

    parameters = {
        name: parameter_entry(fit, time_text(round(fit.value)))
        for name in ("send_overhead", "receive_overhead", "latency")
        if (fit := getattr(measured, name))
    }
    parameters["rate"] = parameter_entry(measured.rate, rate_text(round(measured.rate.value)))
    if measured.window is not None:
        parameters["window"] = parameter_entry(measured.window, round(measured.window.value))
    return parameters


def _host_facts(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """Return the recorded facts of each host, with the largest error of its clock."""
    facts_by_host: dict[str, dict[str, Any]] = {}
    for trial in trials:
        for host in trial.engine.get("hosts", ()):
            facts: Mapping[str, Any] = host.get("facts", {})
            entry = facts_by_host.setdefault(
                host["host"],
                {
                    "name": host["host"],
                    **{name: value for name, value in sorted(facts.items()) if name in _FACTS},
                    "transport_driver": host["driver"],
                    "settings": json.dumps(host["settings"], sort_keys=True)[:400],
                    "clock_error_ns": 0,
                },
            )
            entry["clock_error_ns"] = max(entry["clock_error_ns"], int(host["clock_error_ns"]))
    return list(facts_by_host.values())


def _write_profile(profile: Mapping[str, Any], path: Path) -> None:
    with atomic_file(path) as file:
        file.write(yaml_text(dict(profile), flow_style=None).encode())


def _rows(profile: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "parameter": name,
            "value": fit["value"],
            "residual_median_percent": fit["residual_median"],
            "residual_max_percent": fit["residual_max"],
            "samples": fit["samples"],
            "basis": fit["basis"],
        }
        for name, fit in profile["parameters"].items()
    ]


def _formatted(rows: Sequence[dict[str, Any]], output: Format) -> str:
    if output is Format.CSV:
        return rows_csv(list(rows[0]), rows)
    headers = ("parameter", "value", "residual", "residual", "samples", "measured by")
    units = ("", "", "median %", "max %", "", "")
    columns = [
        Column(header, unit, is_text=index in (0, 5))
        for index, (header, unit) in enumerate(zip(headers, units, strict=True))
    ]
    return render(
        Table(columns, [Row([str(value) for value in row.values()]) for row in rows]), colour=has_colour()
    )
