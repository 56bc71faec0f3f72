"""Drop precedence in a plan: WRED for frames of each colour, and the markers that colour frames."""

from typing import Annotated, Final, Literal

from pydantic import Field

from fabricbench.plan._run_spec import ColouringSpec, MarkerSpec, WredCurveSpec, WredSpec
from fabricbench.plan.fields.base import Named, PlanModel
from fabricbench.plan.fields.hosts import ImpairedHosts
from fabricbench.plan.fields.quantities import AnySize, Part, Priorities, Rate, Size

Colour = Literal["green", "yellow", "red"]
COLOURS: Final[tuple[Colour, ...]] = ("green", "yellow", "red")
"""Drop precedences, the lowest first."""


class WredColour(PlanModel):
    """WRED for frames of a colour: marks or drops them with a probability as ECN does."""

    kmin_bytes: AnySize | None = Field(
        default=None, alias="kmin", description="Kmin [size]. Default: that of `ecn`."
    )
    kmax_bytes: Size | None = Field(
        default=None, alias="kmax", description="Kmax [size], at least Kmin. Default: that of `ecn`."
    )
    pmax_ppm: Part | None = Field(
        default=None, alias="pmax", description="Pmax [%], at most 100 %. Default: that of `ecn`."
    )
    ecn: Literal["on", "off"] = Field(
        default="on",
        description=(
            "`on` marks frames that are ECN-capable and drops others, `off` drops all. Source: "
            "`ecn_all` of SONiC's profiles."
        ),
    )


_Colour = Annotated[WredColour | None, Named({"off": None, "on": {}})]


class Wred(PlanModel):
    """WRED by colour on the egress queue, in which frames of all colours wait."""

    green: _Colour = Field(
        default="on",
        validate_default=True,
        description="Green frames: `on` (as `ecn` says), `off` (all pass) or a mapping.",
    )
    yellow: _Colour = Field(
        default="on", validate_default=True, description="Yellow frames, as `green` has it."
    )
    red: _Colour = Field(default="on", validate_default=True, description="Red frames, as `green` has it.")

    @property
    def marks(self) -> bool:
        """Whether frames of a colour are marked."""
        return any(
            colour is not None and colour.ecn == "on" for colour in (self.green, self.yellow, self.red)
        )

    def run_spec(self, kmin_bytes: int, kmax_bytes: int, pmax_ppm: int) -> WredSpec:
        """Return WRED for the engine.

        Args:
            kmin_bytes: Kmin of colours without one of their own [bytes].
            kmax_bytes: Kmax likewise [bytes].
            pmax_ppm: Pmax likewise [ppm].
        """

        def curve(colour: WredColour | None) -> WredCurveSpec | None:
            if colour is None:
                return None
            return {
                "kmin_bytes": kmin_bytes if colour.kmin_bytes is None else colour.kmin_bytes,
                "kmax_bytes": colour.kmax_bytes or kmax_bytes,
                "pmax_ppm": colour.pmax_ppm or pmax_ppm,
                "ecn": colour.ecn == "on",
            }

        return {"green": curve(self.green), "yellow": curve(self.yellow), "red": curve(self.red)}


class Marker(PlanModel):
    """Marker that colours frames from hosts: one colour, or a meter at each of these ports.

    With `pir` it is the two rate three color marker of RFC 2698, with `ebs` the single rate one of RFC 2697;
    colour-blind, in bytes of frames with FCS, without preamble and gap.
    """

    hosts: ImpairedHosts | None = Field(
        default=None, description='Hosts whose frames it colours, such as `"0-7"`. Default: all.'
    )
    priorities: Priorities | None = Field(
        default=None, description="Priorities whose frames it colours [0 to 7]. Default: all."
    )
    colour: Colour | None = Field(
        default=None, description="The colour of all of them. Default: what a meter says."
    )
    cir_bps: Rate | None = Field(
        default=None, alias="cir", description="Committed information rate [bit/s]. Default: no meter."
    )
    cbs_bytes: Size = Field(
        default="64KB",
        alias="cbs",
        validate_default=True,
        description=(
            "Committed burst size [size]. Source: our choice: some full frames; the RFCs ask for one or more."
        ),
    )
    pir_bps: Rate | None = Field(
        default=None,
        alias="pir",
        description="Peak information rate [bit/s], at least `cir`. Default: none, as with `ebs`.",
    )
    pbs_bytes: Size = Field(
        default="64KB",
        alias="pbs",
        validate_default=True,
        description="Peak burst size [size], with `pir`. Source: as for `cbs`.",
    )
    ebs_bytes: AnySize | None = Field(
        default=None, alias="ebs", description="Excess burst size [size]. Default: none, as with `pir`."
    )

    def run_spec(self) -> MarkerSpec:
        """Return the marker for the engine."""
        return {
            "hosts": None if self.hosts is None else list(self.hosts),
            "priorities": None if self.priorities is None else list(self.priorities),
            "colouring": self._colouring(),
        }

    def _colouring(self) -> ColouringSpec:
        if self.colour is not None:
            return {"kind": "fixed", "colour": self.colour}
        committed, size = self.cir_bps or 0, self.cbs_bytes
        if self.pir_bps is None:
            excess = self.ebs_bytes or 0
            return {"kind": "single-rate", "cir_bps": committed, "cbs_bytes": size, "ebs_bytes": excess}
        return {
            "kind": "two-rate",
            "cir_bps": committed,
            "cbs_bytes": size,
            "pir_bps": self.pir_bps,
            "pbs_bytes": self.pbs_bytes,
        }
