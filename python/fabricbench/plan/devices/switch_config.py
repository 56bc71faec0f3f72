"""`fabric.switch.config`: a plan whose switches are set up as a file of SONiC says.

The values of the file take the place of defaults, as those of a host profile do: what the plan, a variant
or an override writes wins. A record has the values (`values`), so that a stored trial needs no file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from fabricbench import units
from fabricbench.plan.devices.fragment import Fragment, value_text
from fabricbench.plan.devices.json_text import content_of, json_of
from fabricbench.plan.devices.sonic import FIELDS, Carried, fragment_of
from fabricbench.plan.devices.sonic_ports import Sonic
from fabricbench.plan.devices.sonic_tables import DSCP_MAX, PRIORITIES
from fabricbench.plan.document.document import Document
from fabricbench.plan.document.nodes import shorten
from fabricbench.plan.document.overrides import Written, put
from fabricbench.plan.document.shipped import NO_FILE
from fabricbench.plan.errors import FieldPath, Place, PlanError, Problem
from fabricbench.plan.fields.base import ShortModel
from fabricbench.plan.fields.declared import BeforeValidator, Field, WithJsonSchema
from fabricbench.words import counted, one_line

CONFIG: Final[FieldPath] = ("fabric", "switch", "config")
_NAME: Final = ".".join(map(str, CONFIG))
FILES_MAX: Final = 256
NAME_LENGTH_MAX: Final = 4096
_THRESHOLDS: Final = frozenset({"kmin", "kmax", "pmax", "reference_rate"})
_IP_BYTES: Final = 20 + 8 + 12 + 16 + 4
"""What a first packet of RoCEv2 has beside payload: IPv4, UDP, BTH, RETH and ICRC [bytes]."""
_MTU, _RATE = 4096, "400Gbps"
"""Defaults of `transport.mtu` and of the rates of links, where a plan writes none."""
_LINKS: Final = frozenset({"host_link", "fabric_link", "core_link", "link"})

Dscp = Annotated[int, Field(ge=0, le=DSCP_MAX)]


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= NAME_LENGTH_MAX


def _files(value: object) -> tuple[str, ...]:
    """Read the name of a file, or a list of names."""
    names = [value] if isinstance(value, str) else value
    if isinstance(names, list | tuple) and 0 < len(names) <= FILES_MAX and all(map(_is_name, names)):
        return tuple(names)
    found = f"a list of {len(names)}" if isinstance(names, list) else units.describe(value)
    raise units.UnitError(found, f"the name of a file, or a list of up to {FILES_MAX}")


class SwitchConfig(ShortModel):
    """Configuration of the switches: a file of SONiC, or a mapping."""

    short_key = "file"

    file: Annotated[
        tuple[str, ...],
        BeforeValidator(_files),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "string", "minLength": 1},
                    {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
                ]
            }
        ),
    ] = Field(
        description=(
            "`config_db.json` of SONiC, a file next to the plan that holds for every switch; or a list of "
            "those of several switches, which have to come to the same."
        ),
    )
    data_dscp: Dscp | None = Field(
        default=None,
        description=(
            "DSCP of RDMA data [0 to 63], whose traffic class in the file becomes "
            "`transport.priorities.data`. Default: the priority that the plan writes, or the file pauses."
        ),
    )
    cnp_dscp: Dscp | None = Field(
        default=None, description="The same of CNPs [0 to 63]. Default: `transport.priorities.cnp`."
    )
    sha256: str | None = Field(default=None, description="In a record: digest of each file that was read.")
    values: dict[str, Any] | None = Field(
        default=None,
        description=(
            "In a record: what the file gave, by the dotted paths of fields; the file is not read then."
        ),
    )
    not_modelled: Annotated[tuple[str, ...], Field(strict=False)] = Field(
        default=(), description="In a record: what of the file is not modelled."
    )
    differs: Annotated[tuple[str, ...], Field(strict=False)] = Field(
        default=(), description="In a record: what the plan has in another way than the file."
    )


@dataclass(frozen=True)
class Configured:
    """A plan, or a variant of one, with the values of its configuration.

    Attributes:
        document: The plan.
        record: `fabric.switch.config` with the values; none if a file was not read.
        warnings: What to know about it.
    """

    document: Document
    record: Mapping[str, Any] | None = None
    warnings: tuple[Problem, ...] = ()


class Configurations:
    """The configurations that a plan and its variants name, each file read once."""

    def __init__(self, plan_path: Path) -> None:
        """Take the file of the plan, next to which they are."""
        self._plan_path = plan_path
        self._read: dict[str, Sonic] = {}

    def applied(self, document: Document) -> Configured:
        """Return a plan, or a variant of one, with the values of its configuration where it has none.

        Raises:
            PlanError: The file cannot be read, or something in it is wrong or contradicts the plan.
        """
        written = document.value(CONFIG)
        config = written if isinstance(written, dict) else {"file": written}
        names = [config.get("file")] if isinstance(config.get("file"), str) else config.get("file")
        if not isinstance(names, list) or not names or not all(map(_is_name, names)):
            return Configured(document)  # the check of the fields says what is wrong with anything else
        if isinstance(config.get("values"), dict):
            return Configured(_filled(document, _recorded(config["values"], document)))
        carried = _carried(config, document)
        read = [self._file(name, document) for name in dict.fromkeys(names[:FILES_MAX])]
        fragments = [fragment_of(sonic, carried) for sonic in read]
        problems = [
            problem
            for sonic, fragment in zip(read, fragments, strict=True)
            for problem in _contradictions(sonic, fragment, document)
        ]
        problems += _disagreements(fragments, document)
        if problems:
            raise PlanError(problems)
        values = {
            each.field: (each.value, _place(sonic, each.origin))
            for sonic, fragment in zip(read, fragments, strict=True)
            for each in fragment.values
        }
        record = {
            **{name: config[name] for name in ("file", "data_dscp", "cnp_dscp") if name in config},
            "sha256": ", ".join(sonic.file.sha256 for sonic in read),
            "values": {field: value for field, (value, _) in values.items()},
            "not_modelled": list(dict.fromkeys(each for one in fragments for each in one.left_out)),
            "differs": list(dict.fromkeys(each for one in fragments for each in one.warnings)),
        }
        warnings = [
            each
            for sonic, fragment in zip(read, fragments, strict=True)
            for each in _warnings(sonic, fragment, document)
        ]
        return Configured(_filled(document, values), record, tuple(warnings))

    def _file(self, name: str, document: Document) -> Sonic:
        if name not in self._read:
            shown = one_line(name, 200)
            if self._plan_path == NO_FILE or "\0" in name:
                hint = (
                    f"`fabricbench convert {shown}` writes its values for a plan; or run the plan from a file"
                )
                found = f'"{shown}" of a plan that is no file'
                raise PlanError([document.problem(CONFIG, found, "a file next to the plan", hint)])
            path = self._plan_path.parent / name
            try:
                is_file = path.is_file()
            except OSError:  # as a name that is too long
                is_file = False
            if not is_file:
                hint = "`sudo cat /etc/sonic/config_db.json` on the switch"
                raise PlanError(
                    [document.problem(CONFIG, f'no file "{shown}"', "a file next to the plan", hint)]
                )
            self._read[name] = Sonic(json_of(content_of(path, str(path)), str(path)))
        return self._read[name]


def override_of(record: Mapping[str, Any], variant: str = "") -> str:
    """Write a record as the override that gives a plan its values."""
    field = f"variants.{variant}.set.{_NAME}" if variant else _NAME
    return f"{field}={json.dumps(record)}"


def _recorded(values: Mapping[str, Any], document: Document) -> dict[str, tuple[Any, Place]]:
    """Return the values of a record, each at the place of the record."""
    place = document.place(CONFIG)
    problems = [
        document.problem((*CONFIG, "values"), f"the field {shorten(str(name))}", ", ".join(sorted(FIELDS)))
        for name in values
        if name not in FIELDS
    ]
    if problems:
        raise PlanError(problems)
    return {name: (value, place) for name, value in values.items()}


def _disagreements(fragments: Sequence[Fragment], document: Document) -> Iterator[Problem]:
    """Yield the fields that files give different values, unless the plan has its own."""
    first, *others = [({each.field: each.value for each in one.values}, one.source) for one in fragments]
    for values, source in others:
        for field in dict.fromkeys((*first[0], *values)):
            one, other = (value_text(each.get(field, "nothing")) for each in (first[0], values))
            path = tuple(field.split("."))
            if one != other and _is_open(_opened(document, path, document.place(CONFIG)), path):
                found = f"{field} of {one} in {first[1]} and of {other} in {source}"
                hint = f"write `{field}` into the plan, or compare variants with a file each"
                allowed = "files that agree, as a plan sets all its switches up alike"
                yield document.problem(CONFIG, found, allowed, hint)


def _carried(config: Mapping[str, Any], document: Document) -> Carried:
    """Return which priorities the plan writes, and which others it uses."""

    def priority(*path: str | int) -> int | None:
        value = document.value(path)
        return value if type(value) is int and 0 <= value < PRIORITIES else None

    acks = priority("transport", "priorities", "ack")
    others = {6 if acks is None else acks}
    control = document.value(("transport", "rate_control"))
    if control == "dcqcn" or (isinstance(control, dict) and "dcqcn" in control):
        cnps = priority("transport", "priorities", "cnp")
        others.add(6 if cnps is None else cnps)
    tcp = document.value(("tcp",))
    others |= {
        priority("tcp", each, "priority") or 0 for each in range(len(tcp) if isinstance(tcp, list) else 0)
    }
    dscps = {
        name: config[name]
        for name in ("data_dscp", "cnp_dscp")
        if type(config.get(name)) is int and 0 <= config[name] <= DSCP_MAX
    }
    return Carried(
        priority("transport", "priorities", "data"),
        dscps.get("data_dscp"),
        dscps.get("cnp_dscp"),
        frozenset(others),
    )


def _filled(document: Document, values: Mapping[str, tuple[Any, Place]]) -> Document:
    """Return a plan with values where it has none of its own."""
    for name, (value, place) in values.items():
        path = tuple(name.split("."))
        document = _opened(document, path, place)
        if _is_open(document, path):
            document = put(document, list(path), Written(value, place, "{} {}"))
    return document


def _opened(document: Document, path: tuple[str, ...], place: Place) -> Document:
    """Return a plan with a mapping where it has a short form: `pfc: on`, or `buffer: 32MB`."""
    around = path[:3]
    value = document.value(around)
    if len(path) < 4 or value is None or isinstance(value, dict):
        return document
    if around[2] == "buffer" and isinstance(value, str | int):
        return put(document, list(around), Written({"size": value}, document.place(around), "{} {}"))
    if value in ("on", True) and around[2] in ("pfc", "ecn"):
        return put(document, list(around), Written({}, place, "{} {}"))
    return document


def _is_open(document: Document, path: tuple[str, ...]) -> bool:
    """Tell whether a field is not written, and what it is part of is a mapping if it is."""
    if document.value(path) is not None:
        return False
    around = [document.value(path[:end]) for end in range(1, len(path))]
    if not all(each is None or isinstance(each, dict) for each in around):
        return False
    has_preset = document.value(("fabric", "switch", "ecn", "preset")) is not None
    return not (has_preset and path[:3] == ("fabric", "switch", "ecn") and path[-1] in _THRESHOLDS)


def _place(sonic: Sonic, origin: str) -> Place:
    """Return where in the file a value comes from."""
    entry, _, field = origin.partition(" + ")[0].partition(": ")
    return sonic.file.place((*entry.split("|", 1), field.partition(" ")[0]))


def _contradictions(sonic: Sonic, fragment: Fragment, document: Document) -> Iterator[Problem]:
    """Yield what the plan writes and the switches cannot carry."""
    path: FieldPath = ("transport", "priorities", "data")
    written = document.value(path)
    given = next((each for each in fragment.values if each.field == "transport.priorities.data"), None)
    if given is not None and type(written) is int and written != given.value:
        found = (
            f"{written}, while {sonic.file.source} takes {given.origin.replace(': ', ' ')} to {given.value}"
        )
        yield document.problem(path, found, f"{given.value}, or no `data_dscp`")
    mtu = document.value(("transport", "mtu"))
    mtu = _MTU if mtu is None else mtu
    taken = [port.mtu for port in sonic.ports if port.mtu is not None]
    if type(mtu) is int and taken and min(taken) < mtu + _IP_BYTES:
        found = f"{mtu}, with packets of {mtu + _IP_BYTES} bytes"
        allowed = f"packets up to the mtu of PORT in {sonic.file.source}, {min(taken)} bytes"
        yield document.problem(("transport", "mtu"), found, allowed)


def _warnings(sonic: Sonic, fragment: Fragment, document: Document) -> Iterator[Problem]:
    for each in fragment.warnings:
        yield document.problem(CONFIG, each)
    speeds = {port.speed_bps for port in sonic.ports if port.speed_bps}
    rates = set(_rates(document.value(("fabric", "topology")))) or {units.parse_rate(_RATE)}
    if speeds and not rates <= speeds:
        other = ", ".join(units.format_rate(each) for each in sorted(rates - speeds))
        ports = ", ".join(units.format_rate(each) for each in sorted(speeds))
        found = f"ports of {ports}, while links of the plan have {other}"
        yield document.problem(CONFIG, found, hint="set the rates of `fabric.topology`")
    if fragment.left_out:
        shown = one_line(str(sonic.file.source), 200)
        found = f"{counted(len(fragment.left_out), 'setting')} that the model leaves out"
        hint = f"`fabricbench convert {shown}` lists them, and so does the report"
        yield document.problem(CONFIG, found, hint=hint)


def _rates(node: Any, name: str = "") -> Iterator[int]:
    """Yield the rates of links that a topology writes [bit/s]."""
    rate = node.get("rate") if isinstance(node, dict) else node
    if name in _LINKS and isinstance(rate, str):
        try:
            yield units.parse_rate(rate)
        except units.UnitError:
            return  # the check of the fields says so
    elif isinstance(node, dict):
        for key, child in node.items():
            yield from _rates(child, key)
    elif isinstance(node, list):
        for child in node:
            yield from _rates(child, name)
