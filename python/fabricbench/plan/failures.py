"""What fails and is repaired in the course of a run, at given times."""

from typing import Annotated, Literal

from pydantic import Field

from fabricbench.plan._run_spec import (
    BitErrorsFailureSpec,
    FrameLossFailureSpec,
    LinkDownFailureSpec,
    LinkRateFailureSpec,
    LinkUpFailureSpec,
    SwitchDownFailureSpec,
    SwitchUpFailureSpec,
)
from fabricbench.plan.base import PlanModel
from fabricbench.plan.fields import BitErrorRate, LossShare, Rate, Time

LinkName = Annotated[str, Field(min_length=3, max_length=200)]
"""A link by the names of its two nodes in either order, as `fabricbench describe` lists them."""
_AT = "When, from the start of the run [time]."
_LINK = (
    "The link by its two nodes, such as `leaf0-spine1` or `host3-leaf0`: all cables between them; "
    "`leaf0-spine1:0` is the first of several."
)
_SWITCH = "Name of the switch, such as `spine1`."


class LinkDown(PlanModel):
    """Frames on the link, and those sent on it from now on, are lost in both directions."""

    kind: Literal["link-down"] = Field(description="Frames on the link and to it are lost, both ways.")
    at_ps: Time = Field(alias="at", description=_AT)
    link: LinkName = Field(description=_LINK)

    def run_spec(self) -> LinkDownFailureSpec:
        """Write the failure out for the engine."""
        return {"kind": self.kind, "at_ps": self.at_ps, "link": self.link}


class LinkUp(PlanModel):
    """The link carries frames again."""

    kind: Literal["link-up"] = Field(description="The link carries frames again.")
    at_ps: Time = Field(alias="at", description=_AT)
    link: LinkName = Field(description=_LINK)

    def run_spec(self) -> LinkUpFailureSpec:
        """Write the repair out for the engine."""
        return {"kind": self.kind, "at_ps": self.at_ps, "link": self.link}


class LinkRate(PlanModel):
    """The link changes its rate; a frame keeps the rate at which it began."""

    kind: Literal["link-rate"] = Field(description="The link changes its rate, from the next frame on.")
    at_ps: Time = Field(alias="at", description=_AT)
    link: LinkName = Field(description=_LINK)
    rate_bps: Rate = Field(
        alias="rate",
        description=(
            "Its rate from now on, in both directions [bit/s]; from a hundredth of its own to all of it. "
            "Routes stay as they are."
        ),
    )

    def run_spec(self) -> LinkRateFailureSpec:
        """Write the change out for the engine."""
        return {"kind": self.kind, "at_ps": self.at_ps, "link": self.link, "rate_bps": self.rate_bps}


class BitErrors(PlanModel):
    """Bits of frames on the link are wrong now and then; such frames are dropped where they arrive."""

    kind: Literal["bit-errors"] = Field(
        description="Bits on the link are wrong now and then, both ways; such frames are dropped on arrival."
    )
    at_ps: Time = Field(alias="at", description=_AT)
    link: LinkName = Field(description=_LINK)
    errors_1e18: BitErrorRate = Field(
        alias="rate",
        description=(
            "Bit error rate from now on [ratio], such as 1e-12; at most 1e-3. 0 ends errors and losses. "
            "IEEE 802.3 asks for less than 1e-12 (clause 44) or, after error correction, 1e-13 (clause 116)."
        ),
    )

    def run_spec(self) -> BitErrorsFailureSpec:
        """Write the failure out for the engine."""
        return {"kind": self.kind, "at_ps": self.at_ps, "link": self.link, "errors_1e18": self.errors_1e18}


class FrameLoss(PlanModel):
    """The link loses frames of any size, each by itself."""

    kind: Literal["frame-loss"] = Field(
        description="The link loses frames of any size alike, both ways, as if bits of them were wrong."
    )
    at_ps: Time = Field(alias="at", description=_AT)
    link: LinkName = Field(description=_LINK)
    lost_ppm: LossShare = Field(
        alias="share",
        description="Frames lost from now on [%, of all frames]; at most 50%. 0 ends errors and losses.",
    )

    def run_spec(self) -> FrameLossFailureSpec:
        """Write the failure out for the engine."""
        return {"kind": self.kind, "at_ps": self.at_ps, "link": self.link, "lost_ppm": self.lost_ppm}


class SwitchDown(PlanModel):
    """All links of a switch are down."""

    kind: Literal["switch-down"] = Field(description="All links of a switch are down.")
    at_ps: Time = Field(alias="at", description=_AT)
    switch: str = Field(description=_SWITCH)

    def run_spec(self) -> SwitchDownFailureSpec:
        """Write the failure out for the engine."""
        return {"kind": self.kind, "at_ps": self.at_ps, "switch": self.switch}


class SwitchUp(PlanModel):
    """The links of a switch carry frames again, but for those that are down themselves."""

    kind: Literal["switch-up"] = Field(description="The links of a switch carry frames again.")
    at_ps: Time = Field(alias="at", description=_AT)
    switch: str = Field(description=_SWITCH)

    def run_spec(self) -> SwitchUpFailureSpec:
        """Write the repair out for the engine."""
        return {"kind": self.kind, "at_ps": self.at_ps, "switch": self.switch}


Failure = Annotated[
    LinkDown | LinkUp | LinkRate | BitErrors | FrameLoss | SwitchDown | SwitchUp,
    Field(discriminator="kind"),
]
"""Something that fails or is repaired."""
