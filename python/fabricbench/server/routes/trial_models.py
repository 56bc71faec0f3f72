"""Models of the answers about trials, and of changes to them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from fabricbench.backend.protocol import Observation
from fabricbench.report.documents.port_map import PortRowJson
from fabricbench.report.output.json_types import JobJson, ShownJson
from fabricbench.results.hosts import TrialHostJson
from fabricbench.store.catalog.schema import TAG_LENGTH_MAX

TrialStatus = Literal["running", "complete", "incomplete", "interrupted", "failed"]
Fact = str | int | float | bool | None
Tag = Annotated[str, Field(min_length=1, max_length=TAG_LENGTH_MAX, pattern=r"^[^\s,]([^\r\n\t,]*[^\s,])?$")]


class WorstJob(BaseModel):
    """The job of a trial that keeps least of its bus bandwidth alone."""

    job: str
    kept_percent: float = Field(description="What it keeps; 0 if it completes alone and here does not.")


class LeadingJob(BaseModel):
    """The job of a trial that failed, or that has the least share of its ideal."""

    job: str
    data_size_bytes: int = Field(description="Its data size, which tells several of one job apart.")
    why: str = Field(description="Why it is this one, such as `is incomplete`.")


class TrialHead(BaseModel):
    """A trial: what was run, how it ended, and the jobs that stand for it."""

    id: str
    attempt: int = Field(description="Number of the attempt; the same trial may have failed before.")
    plan: str
    title: str
    variant: str
    axes: dict[str, Any] = Field(description="The fields that the plan sweeps, each with its value here.")
    iteration: int
    suite: str = Field(description="What the trials of one run of a plan have in common.")
    position: int
    data_size_bytes: int
    size_kind: str
    status: TrialStatus
    message: str
    backend: str = Field(description="What made it, such as `sim`; `imported` if it was measured elsewhere.")
    backend_version: str = Field(description="Version of the results of that.")
    engine_version: str
    started_at: str
    ended_at: str | None
    tags: list[str]
    verdict: str | None = Field(description="`pass` or `fail` by the plan's criteria; null without any.")
    ranks: int = Field(description="Ranks of all jobs together.")
    worst: WorstJob | None = Field(
        description="The job that fares worst against its run alone; null if unknown."
    )
    leading: LeadingJob | None = Field(
        description="The job whose figures stand for the trial; null if none has any."
    )


class TrialRow(TrialHead):
    """A trial in a list, with the metrics of each job."""

    jobs: list[JobJson] = Field(description="Each job's metrics, as `trials --format json` has them.")


class StoredRunSpec(BaseModel):
    """The RunSpec of a trial, as its version stored it; that of a measured trial has no fabric."""

    model_config = ConfigDict(extra="allow")

    jobs: list[dict[str, Any]]


class PublishedRow(BaseModel):
    """The line of a published table for the size of a trial."""

    table: str = Field(description="Name of the table.")
    source: str = Field(description="Where the figures come from.")
    values: dict[str, float] = Field(description="Value of each column.")


class EngineFacts(BaseModel):
    """The backend's facts about a trial: time and memory, by names of its own."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Fact | dict[str, Fact] | list[TrialHostJson]]

    hosts: list[TrialHostJson] | None = Field(None, description="Its hosts, where it ran on hosts.")


class RunMember(TypedDict):
    """A trial as one of its run."""

    id: str
    variant: str
    iteration: int
    data_size_bytes: int
    size_kind: str
    position: int
    axes: dict[str, Any]
    status: TrialStatus


class TrialDetail(TrialHead):
    """A trial with its jobs, its plan, its record and its run."""

    shown: ShownJson | None = Field(
        description="What `show --format json` prints; null while the trial has not finished."
    )
    order: list[int] = Field(
        description="Its jobs by their positions in `shown`: failed ones first, then by share of the ideal."
    )
    plan_source: str
    overrides: list[str]
    run_spec: StoredRunSpec
    observed: dict[str, Observation] = Field(description="Tables of its record.")
    published: PublishedRow | None
    reference: str | None = Field(description="Variant that the others of its plan are compared with.")
    engine: EngineFacts
    machine: dict[str, Fact] | None
    suite_trials: list[RunMember] = Field(description="Its run, in the order of the plan.")


class TrialPage(BaseModel):
    """Some of the trials that a query finds."""

    total: int = Field(description="How many there are.")
    trials: list[TrialRow]


class RunListRow(BaseModel):
    """A run in a list, counted over those of its trials that match."""

    suite: str = Field(description="What its trials have in common.")
    plan: str
    title: str
    backend: str
    engine_version: str
    trials: int
    variants: int
    sizes: int
    iterations: int
    swept: dict[str, int] = Field(description="How many values each swept field has that has several.")
    states: dict[str, int] = Field(description="How many trials of each status.")
    tags: list[str] = Field(description="Tags that one of its trials has.")
    verdict: str | None = Field(
        description="`fail` where one of its trials fails the plan's criteria, `pass` where none does; null "
        "without any, and beyond the first thousand trials of a page."
    )
    worst: WorstJob | None = Field(
        description="The job of one of its trials that fares worst against its run alone."
    )
    started_at: str
    ended_at: str | None
    ideal_percent: tuple[float, float] | None = Field(
        description="Least and largest share of the ideal, of each complete trial that of its worst job."
    )
    times: int = Field(description="How often each of its trials has run at least, as a part of any run.")
    changes: int = Field(description="How often a trial ran again and gave other results than before.")
    same_plan_as: str | None = Field(description="`suite` of the first run of the same run specs.")
    same_results: bool | None = Field(description="Whether that one's results are the same.")


class RunListPage(BaseModel):
    """Some of the runs that a query finds."""

    total: int = Field(description="How many there are.")
    runs: list[RunListRow]


class TagChanges(BaseModel):
    """Tags to give and to take away."""

    model_config = ConfigDict(extra="forbid")

    add: list[Tag] = Field(default_factory=list, max_length=20)
    remove: list[Tag] = Field(default_factory=list, max_length=20)


class TrialChanges(BaseModel):
    """What may be changed of a trial."""

    model_config = ConfigDict(extra="forbid")

    tags: TagChanges


class TrialTags(BaseModel):
    """The tags of a trial."""

    id: str
    tags: list[str]


class TrialState(BaseModel):
    """Whether a trial is in the trash."""

    id: str
    deleted: bool


class TrialChoices(BaseModel):
    """Values that trials can be filtered by."""

    plan: list[str]
    variant: list[str]
    backend: list[str]
    status: list[str]
    tag: list[str]


class PortColumn(BaseModel):
    """A column of the port map as text."""

    name: str
    title: str
    is_number: bool


class PortMapPage(BaseModel):
    """Some rows of the port map of a trial."""

    total: int = Field(description="How many there are: one for each rank and port.")
    offset: int = Field(description="Number of the first of these rows.")
    selected: list[int] = Field(description="Which of these rows are at the port that `at` names.")
    about: str = Field(description="What numbers of queue pairs are.")
    columns: list[PortColumn] = Field(description="Columns that say something, for a table.")
    cells: list[list[str]] = Field(description="Texts of the rows, by column.")
    ports: list[PortRowJson]
