"""The commands `report` (HTML file), `notebook` (Jupyter) and `capture` (pcapng file of frames)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fabricbench.backend.queue_pairs import Wiring
from fabricbench.backend.registry import capturing
from fabricbench.cli import completion
from fabricbench.cli.options import (
    ForceOption,
    OverridesOption,
    PlanArgument,
    TrialArgument,
    VariantsOption,
    WorkspaceOption,
)
from fabricbench.cli.output import has_colour, note, write
from fabricbench.plan.expand import PlannedTrial
from fabricbench.plan.loaded_plan import LoadedPlan
from fabricbench.report.documents.queue_pairs import queue_pairs_table
from fabricbench.report.output.atomic_files import check_page_name, check_writable_target
from fabricbench.report.output.number_selection import ChoiceError, choose
from fabricbench.report.output.pcapng import LINKTYPE_ETHERNET, LINKTYPE_INFINIBAND, by_sender, write_pcapng
from fabricbench.report.terminal.text_table import render
from fabricbench.runner import loading
from fabricbench.runner.trial_facts import trial_id
from fabricbench.store import Workspace
from fabricbench.words import counted, data_size, plural

DEFAULT_FRAMES = 1000


def report_command(
    out: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="FILE.html", help="The file to write; replaced if it exists."),
    ],
    trial: TrialArgument = "latest",
    compared: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="TRIAL",
            autocompletion=completion.trials,
            help="Set the run of this trial beside, such as a measured one.",
        ),
    ] = None,
    workspace: WorkspaceOption = None,
) -> None:
    """Write a report: one HTML file that opens offline.

    It covers every finished trial of the plan's run that TRIAL belongs to; the detailed plots show TRIAL.
    """
    from fabricbench.report.html.run_page import write_report

    check_page_name(out)
    check_writable_target(out)
    store = Workspace.open(workspace)
    focus = store.find(trial)
    members = store.family(focus)
    member_ids = {member.id for member in members}
    compared_run = store.suite(store.find(compared)) if compared else []
    others = [other for other in compared_run if other.id not in member_ids]
    size_bytes = write_report(members, focus, out, others, store.twins(store.suite(focus)))
    count = sum(1 for member in members if member.facts.suite == focus.facts.suite)
    note(f"wrote {out}: {counted(count, 'trial')}, {size_bytes / 1e6:.1f} MB")


def notebook_command(
    out: Annotated[
        Path,
        typer.Option("-o", "--out", metavar="FILE.ipynb", help="The file to write; replaced if it exists."),
    ],
    trial: TrialArgument = "latest",
    workspace: WorkspaceOption = None,
) -> None:
    """Write a Jupyter notebook that loads a trial and draws its plots."""
    from fabricbench.report.output.notebook import write_notebook

    if out.suffix != ".ipynb":
        raise typer.BadParameter(
            f"-o {out}: Jupyter opens a notebook by its ending; name it {out.stem}.ipynb"
        )
    check_writable_target(out)
    store = Workspace.open(workspace)
    stored_trial = store.find(trial)
    write_notebook(stored_trial, store.suite(stored_trial), store.root.resolve(), out)
    note(f"wrote {out}: trial {stored_trial.id}; `jupyter lab {out}` opens it")


def capture_command(  # noqa: PLR0913, PLR0917 -- one parameter for each option
    plan: PlanArgument,
    overrides: OverridesOption = None,
    variants: VariantsOption = None,
    qps: Annotated[
        str,
        typer.Option(metavar="LIST", help="Queue pairs to capture, such as 0,1,5-8; --list-qps shows them."),
    ] = "",
    frames: Annotated[
        int, typer.Option(min=1, max=10_000_000, help="Stop after so many frames.")
    ] = DEFAULT_FRAMES,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE.pcapng", help="The file to write; replaced if it exists."),
    ] = None,
    trial_index: Annotated[
        int | None,
        typer.Option(
            min=0, help="Which trial of the plan, in its order from 0; by default the first with all jobs."
        ),
    ] = None,
    data_size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="The trial of this data or message size, such as 16MB.")
    ] = None,
    list_qps: Annotated[
        bool, typer.Option("--list-qps", help="List the queue pairs of the trial and capture nothing.")
    ] = False,
    force: ForceOption = False,
) -> None:
    """Capture the first frames of some queue pairs, as they leave the NICs, in a pcapng file.

    Frames have valid checksums and ICRC and no Ethernet FCS; InfiniBand packets end with
    their VCRC. Times are nanoseconds since the run began.
    """
    if out is not None:
        _check_is_pcapng(out)
    # A capture ends after its frames, which may need much less time than the trial.
    limits = None if force else loading.machine_limits(time_limit_min=None)
    loaded = loading.load(plan, overrides or (), limits, variants or ())
    loading.check_no_search(loaded, "capture")
    planned = chosen_trial(loaded.trials, trial_index, data_size)
    wiring = capturing(loaded.plan.backend).wiring(planned)
    if list_qps:
        from dataclasses import astuple

        table = queue_pairs_table(astuple(pair) for pair in wiring.queue_pairs)
        write(render(table, colour=has_colour()))
        return
    queue_pairs = _queue_pairs(qps, wiring)
    if out is None:
        raise typer.BadParameter("say where to write: -o FILE.pcapng")
    _write_capture(loaded, planned, wiring, queue_pairs, frames, out)


def _check_is_pcapng(out: Path) -> None:
    """Refuse names of other formats: only pcapng has several interfaces, comments and nanoseconds."""
    if out.suffix.lower() in {"", ".pcapng", ".ntar"} or out.is_dir():
        return
    name = out.with_suffix(".pcapng").name
    convert = f"; `editcap -F nsecpcap {name} {out.name}` converts it" if ".pcap" in out.suffixes else ""
    raise typer.BadParameter(f"-o {out}: a capture is written as pcapng; name it {name}{convert}")


def chosen_trial(trials: list[PlannedTrial], index: int | None, data_size: str | None) -> PlannedTrial:
    """Return the trial with an index or a data size; by default the first with all jobs."""
    if data_size is not None:
        trials = _of_size(trials, data_size)
    if index is None:
        return next((trial for trial in trials if not trial.is_solo), trials[0])
    if index >= len(trials):
        raise typer.BadParameter(f"no trial {index}; there are {len(trials)}, from 0 to {len(trials) - 1}")
    return trials[index]


def _of_size(trials: list[PlannedTrial], size_text: str) -> list[PlannedTrial]:
    """Return the trials of a data size, written as in tables (`16 MB`, `16MB`, `16MiB`) or in bytes."""

    def normalised(size: str) -> str:
        return "".join(size.split()).lower().replace("ib", "b")

    sizes = {trial.data_size_bytes: data_size(trial.data_size_bytes) for trial in trials}
    matches = [
        size
        for size, text in sizes.items()
        if normalised(size_text) in (normalised(text), str(size), f"{size}b")
    ]
    if not matches:
        raise typer.BadParameter(
            f'no trial of data size "{size_text}"; the plan has {", ".join(sizes.values())}'
        )
    return [trial for trial in trials if trial.data_size_bytes == matches[0]]


def _queue_pairs(text: str, wiring: Wiring) -> list[int]:
    if not text:
        raise typer.BadParameter("say which queue pairs: --qps 0,1,5-8; --list-qps lists them")
    try:
        return choose(text, len(wiring.queue_pairs), "queue pair")
    except ChoiceError as error:
        raise typer.BadParameter(f"--qps: {error}") from error


def _write_capture(
    loaded: LoadedPlan, planned: PlannedTrial, wiring: Wiring, qps: list[int], count: int, out: Path
) -> None:
    check_writable_target(out)
    is_infiniband = planned.run_spec["fabric"]["link_layer"]["kind"] == "infiniband"
    addresses = wiring.lids if is_infiniband else wiring.ip_addresses
    link_type = LINKTYPE_INFINIBAND if is_infiniband else LINKTYPE_ETHERNET
    captured_frames = capturing(loaded.plan.backend).frames(planned, qps, count)
    interfaces, frames = by_sender(captured_frames, addresses, wiring.host_rates_bps, link_type)
    backend, seed = loading.backend_of(loaded), planned.run_spec["seed"]
    size = f"{planned.size_kind} size {planned.data_size_bytes} bytes"
    comment = f"plan {loaded.plan.name}, {size}, trial {trial_id(planned, backend)}, seed {seed}"
    program = f"fabricbench {backend.engine_version}"
    frame_count = write_pcapng(out, interfaces, frames, comment=comment, application=program)
    frames_of = f"{counted(frame_count, 'frame')} from {counted(len(interfaces), 'host')}"
    note(f"wrote {out}: {frames_of}, {plural(len(qps), 'queue pair')} {_short(qps)}")


def _short(qps: list[int]) -> str:
    """Return a list of a few queue pairs, or the range and number of many."""
    return ", ".join(map(str, qps)) if len(qps) <= 8 else f"{qps[0]} to {qps[-1]}, {len(qps):,} of them"
