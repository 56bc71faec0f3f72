"""What an MPI library adds to a collective: the handshake before large messages."""

from typing import Final

from pydantic import Field

from fabricbench.plan._run_spec import RendezvousSpec
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.quantities import Size

OWN_BLOCK: Final = ("all-to-all", "all-gather")
"""Collectives in which every rank has a block of its own that goes to nobody."""
ROOTED: Final = ("gather", "scatter", "broadcast", "reduce", "incast")
"""Collectives with a root, or a receiver."""
CONTROL_BYTES_MAX: Final = 4096
"""Most payload of a message of the handshake."""


class Rendezvous(PlanModel):
    """The handshake before large messages: the sender announces one (RTS), the receiver clears it (CTS).

    The payload follows the clearance. Both are messages on queue pairs of their own, in the priority of data.
    """

    threshold_bytes: Size = Field(
        default="8KB",
        alias="threshold",
        validate_default=True,
        description=(
            "Messages of this size and more have the handshake; smaller ones are sent at once (eager) "
            "[size]. Source: UCX_RNDV_THRESH as UCX-Py sets it; UCX itself estimates it from the adapter."
        ),
    )
    control_bytes: Size = Field(
        default=64,
        alias="control_size",
        description=(
            "Payload of an announcement and of a clearance [size, 1 B to 4 KB]. Source: an estimate: a "
            "header of UCX, of some 40 bytes, with the address and the key of a buffer."
        ),
    )

    def run_spec(self) -> RendezvousSpec:
        """Write it out for the engine."""
        return {"threshold_bytes": self.threshold_bytes, "control_bytes": self.control_bytes}
