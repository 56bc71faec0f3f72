"""MPI messages of a plan: the rendezvous handshake before large messages.

Also lists the collectives that have a root, and those in which each rank keeps one block of the data.
"""

from typing import Final

from pydantic import Field

from fabricbench.plan._run_spec import RendezvousSpec
from fabricbench.plan.fields.base import PlanModel
from fabricbench.plan.fields.quantities import Size

OWN_BLOCK: Final = ("all-to-all", "all-gather")
"""Collectives in which every rank has a block of its own that it does not send."""
ROOTED: Final = ("gather", "scatter", "broadcast", "reduce", "incast")
"""Collectives with a root, or a receiver."""


class Rendezvous(PlanModel):
    """The handshake before large messages: the sender announces one (RTS), the receiver clears it (CTS).

    The payload follows the clearance. Both are messages on queue pairs of their own, in the priority of data.
    """

    threshold_bytes: Size = Field(
        default="8KB",
        alias="threshold",
        validate_default=True,
        description=(
            "Smaller messages are sent at once (eager), without the handshake [size]. Source: "
            "UCX_RNDV_THRESH as UCX-Py sets it; UCX itself estimates it from the adapter."
        ),
    )
    control_bytes: Size = Field(
        default=64,
        alias="control_size",
        description=(
            "Payload of an announcement and of a clearance [size, 1 B to 4 KB]. Source: an estimate: a "
            "header of UCX, some 40 bytes, with address and key of a buffer."
        ),
    )

    def run_spec(self) -> RendezvousSpec:
        """Return its fields for the engine."""
        return self.to_spec(RendezvousSpec)
