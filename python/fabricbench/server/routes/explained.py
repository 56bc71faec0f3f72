"""Route that explains pasted results, like the command `fabricbench explain FILE`."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from fabricbench.plan.cluster import SERVERS_MAX
from fabricbench.server.errors import ERRORS
from fabricbench.server.option_task import run_option_task
from fabricbench.server.routes.expected import CURVE_SECONDS, check_server
from fabricbench.server.routes.imports import NAME_LENGTH_MAX, NAME_PATTERN, check_plan
from fabricbench.server.routes.plots import PlotlyFigure
from fabricbench.server.state import State

router = APIRouter(prefix="/api/v1", tags=["expected"], responses=ERRORS)

PATH: Final = "/api/v1/explained"
_FILES_MAX: Final = 32

_Name = Annotated[str, Field(max_length=NAME_LENGTH_MAX, pattern=NAME_PATTERN)]


class PastedFile(BaseModel):
    """A file, or a pasted text."""

    name: _Name = Field("pasted.txt", min_length=1, description="Its name, for errors.")
    text: str
    earlier: bool = Field(False, description="Whether it has counters from before the run.")


class ToExplain(BaseModel):
    """Results with their fabric and the values that they lack.

    The fabric is a cluster, a shipped plan, or a plan among the files; without one only the files count.
    """

    files: list[PastedFile] = Field(
        min_length=1,
        max_length=_FILES_MAX,
        description="The output of a benchmark or NCCL's log; next to it counters, `config_db.json` of a "
        "switch, a plan. Each is detected by its content.",
    )
    cluster: str = Field("", max_length=80, description="A shipped server.")
    servers: int | None = Field(None, ge=1, le=SERVERS_MAX, description="Number of servers.")
    topology: str = Field("", max_length=40)
    nccl: _Name = Field("", description="Version of NCCL; that of the log by default.")
    plan: str = Field("", max_length=80, description="A shipped plan.")
    rate: _Name = Field("", description="Rate of an adapter, such as 400Gbps.")
    adapters: int | None = Field(None, ge=1, le=1024, description="Adapters of a host.")
    ranks: int | None = Field(None, ge=1, le=1 << 24, description="Where the output does not say it.")
    benchmark: _Name = Field("", description="Where the output does not say it.")
    uplinks: list[_Name] = Field(
        default_factory=list, max_length=1000, description="Ports of counters towards the next tier."
    )


class ExplainedInput(BaseModel):
    """A file of the request."""

    name: str
    kind: Literal["results", "counters", "earlier counters", "configuration", "plan", "graphs"]
    about: str = Field(description="Its content in a line.")


class ShortAnswer(BaseModel):
    """An answer in a few words: measured, expected, cause."""

    question: str
    text: str
    about: str


class MeasuredResult(BaseModel):
    """A result of the files."""

    benchmark: str
    ranks: int
    size_bytes: int
    placement: str
    time_us: float | None
    busbw_gb_per_s: float | None
    expected_gb_per_s: list[float] | None = Field(description="Least and most.")
    nccl: str | None = Field(description="NCCL's choice in the log.")
    line: int
    differs: dict[str, str] = Field(description="Settings in which runs of the file differ.")


class ExpectedResult(BaseModel):
    """Expected bus bandwidth at a data size."""

    size_bytes: int
    busbw_gb_per_s_least: float
    busbw_gb_per_s_lower: float
    busbw_gb_per_s_median: float
    busbw_gb_per_s_upper: float
    busbw_gb_per_s_most: float
    ideal_gb_per_s: float | None
    nccl: str | None = Field(description="NCCL's choice.")
    bound: str | None
    with_logged_choice_gb_per_s: float | None


class Shortfall(BaseModel):
    """A size whose result is below the expectation."""

    size_bytes: int
    factor: float


class CountedDevice(BaseModel):
    """A switch or host with counters."""

    switch: str
    kind: str
    file: str
    before: str | None
    forms: list[str]
    notes: list[str]


class LikelyCause(BaseModel):
    """A cause of low bandwidth."""

    cause: str
    confidence: Literal["certain", "likely", "possible"]
    sentence: str
    evidence: list[str]
    to_tell: str = Field(description="The test or command that separates it from others.")


class TableColumn(BaseModel):
    """A column of a table."""

    title: str
    unit: str
    is_text: bool


class TableRow(BaseModel):
    """A row of a table."""

    cells: list[str]
    tone: str


class ResultTable(BaseModel):
    """The results next to the expectation."""

    columns: list[TableColumn]
    rows: list[TableRow]


class Explained(BaseModel):
    """Measured and expected bandwidth with causes: `explain FILE --format json`, and parts of its page."""

    file: str
    format: str
    warnings: list[str]
    results: list[MeasuredResult]
    expected: list[ExpectedResult]
    expected_source: str | None
    falls_short: list[Shortfall]
    choices_that_differ: list[str]
    plan: str | None
    candidates: list[str]
    hosts: int | None
    adapters: int | None
    rate_gbps: float | None
    target_gb_per_s: float | None
    reached: float | None
    switches: list[CountedDevice]
    causes: list[LikelyCause] = Field(description="The likeliest first.")
    title: str
    verdict: str
    tone: Literal["", "good", "bad"]
    answers: list[ShortAnswer]
    notes: list[str] = Field(description="Warnings, shortfalls, origin of the expectation, missing inputs.")
    configuration_notes: list[str] = Field(description="Differences of the model from the configuration.")
    table: ResultTable | None
    figure: PlotlyFigure | None
    inputs: list[ExplainedInput]


@router.post("/explained", response_model=Explained)
async def explain_results(state: State, asked: ToExplain) -> dict[str, Any]:
    """Explain the output of a benchmark or NCCL's log: expected bandwidth, likely causes, the next test.

    Nothing is stored, and trials of the workspace are not used.
    """
    if asked.cluster:
        check_server(asked.cluster)
    if asked.plan:
        check_plan(asked.plan)
    given = asked.model_dump()
    files = given.pop("files")
    hint = "fewer servers take less; `fabricbench explain` has no such limits"
    arguments = {"files": files, "given": given}
    return await run_option_task(state, "explain", arguments, "the explanation", hint, CURVE_SECONDS)
