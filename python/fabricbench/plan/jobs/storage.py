"""Storage jobs of a plan: clients with a number of outstanding NVMe over Fabrics operations at targets."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from fabricbench.plan._run_spec import StorageLength, StorageWork
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.hosts import Hosts, parse_hosts
from fabricbench.plan.fields.quantities import PPM, AnySize, Duration, Part, Rate, Size, Time, limits_of
from fabricbench.units import UnitError

LOGICAL_BLOCK_BYTES: Final = 512
"""Unit of block sizes [bytes]."""


class Storage(PlanModel):
    """Operations of storage clients, as of `fio` with `rw=randwrite`, over NVMe over Fabrics."""

    clients: Hosts = Field(
        description="Hosts that issue operations: ranges such as `0-10`, or a list. They are the first ranks."
    )
    targets: Hosts = Field(
        description="Hosts that serve them; the target of each operation is drawn at random. The other ranks."
    )
    operation: Literal["write", "read", "mixed"] = Field(
        default="write",
        description="What an operation does. fio: `rw`. Source: the published test.",
    )
    read_ppm: Part = Field(
        default="50%",
        alias="read_share",
        validate_default=True,
        description="Reads of a `mixed` job [share]. fio: `rwmixread`. Source: fio.",
    )
    block_bytes: Size | None = Field(
        default=None,
        alias="block_size",
        description=(
            "Data of an operation [size], a multiple of 512 bytes; the data size of the job. fio: `bs`. "
            "Default: that "
            "of `sweep.data_size`."
        ),
    )
    depth: Annotated[int, limits_of("StorageWork.depth")] = Field(
        default=1,
        description=(
            "Operations that each client keeps outstanding. fio: `iodepth` times `numjobs`. Source: fio."
        ),
    )
    duration_ps: Duration | None = Field(
        default=None,
        alias="duration",
        description=(
            "For how long operations are issued, from the start of the job [time]; this or `operations`. "
            "fio: `runtime`. With `repeat: until-others-end` it holds for the job alone."
        ),
    )
    operations: Annotated[int, limits_of("OperationsStorageLength.operations")] | None = Field(
        default=None,
        description="Operations that each client issues; this or `duration`. fio: `number_ios`.",
    )
    warm_up_ps: Time = Field(
        default="0s",
        alias="warm_up",
        validate_default=True,
        description=(
            "Operations issued sooner after the start of the job are not measured [time]. fio: `ramp_time`. "
            "Source: fio."
        ),
    )
    in_capsule_bytes: AnySize = Field(
        default="4KB",
        alias="in_capsule",
        validate_default=True,
        description=(
            "Up to this block size the data of a write travels with its command [size]; above it the target "
            "fetches it with RDMA READ (NVMe over RDMA transport specification 1.0). Source: SPDK's target; "
            "Linux has 16 KB."
        ),
    )
    outstanding_reads: Annotated[int, limits_of("StorageWork.outstanding_reads")] = Field(
        default=16,
        description=(
            "RDMA READ requests outstanding on a target's queue pair. Source: `max_qp_rd_atom` of ConnectX "
            "NICs."
        ),
    )
    service_rate_bps: Rate | None = Field(
        default=None,
        alias="service_rate",
        description="How fast a target stores and fetches data [rate]. Source: the network alone.",
    )
    service_time_ps: Time = Field(
        default="0s",
        alias="service_time",
        validate_default=True,
        description=(
            "Time of a target for each operation besides, one after the other [time]. Source: the network "
            "alone."
        ),
    )

    def run_spec(self, block_bytes: int) -> StorageWork:
        """Return the work of the job for the engine, after its checks."""
        length: StorageLength
        if self.duration_ps is not None:
            length = {"kind": "duration", "duration_ps": self.duration_ps}
        else:
            length = {"kind": "operations", "operations": self.operations or 1}
        shares = {"write": 0, "read": PPM, "mixed": self.read_ppm}
        return self.to_spec(
            StorageWork,
            kind="storage",
            block_bytes=block_bytes,
            clients=len(self.clients or ()),
            read_ppm=shares[self.operation],
            length=length,
            service_rate_bps=self.service_rate_bps,
        )


def fill_job(job: Any) -> Any:
    """Return a storage job as written with its ranks and its data size, unless it has them.

    Values that cannot be read are ignored here; the checks of the fields report them.
    """
    storage = job.get("storage") if isinstance(job, dict) else None
    if not isinstance(storage, dict):
        return job
    filled = dict(job)
    try:
        clients, targets = parse_hosts(storage.get("clients")), parse_hosts(storage.get("targets"))
    except UnitError:
        clients = targets = None
    if "ranks" not in job and clients and targets:
        filled["ranks"] = [*clients, *targets]
    if "data_size" not in job and storage.get("block_size") is not None:
        filled["data_size"] = storage["block_size"]
    return filled
