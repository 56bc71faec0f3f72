"""`fabric.switch.config`: a plan whose switches are set up as a file of SONiC says.

The values of the file take the place of defaults, as those of a host profile do: what the plan, a variant
or an override writes wins. A record has the values (`values`), so that a stored trial needs no file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, WithJsonSchema

from fabricbench import units
from fabricbench.plan.devices.fragment import Fragment, value_text
from fabricbench.plan.devices.json_text import content_of
from fabricbench.plan.devices.redis_dump import configuration_of
from fabricbench.plan.devices.sonic import FIELDS, Carried, fragment_of
from fabricbench.plan.devices.sonic_ports import Sonic
from fabricbench.plan.devices.sonic_tables import DSCP_MAX, PRIORITIES
from fabricbench.plan.devices.switch_values import (
    CONFIG,
    SETTINGS,
    SWITCH,
    filled,
    is_open,
    opened,
    with_settings,
)
from fabricbench.plan.document.document import Document
from fabricbench.plan.document.nodes import shorten
from fabricbench.plan.document.shipped import NO_FILE
from fabricbench.plan.errors import FieldPath, Place, PlanError, Problem
from fabricbench.plan.fields.base import ShortModel
from fabricbench.words import close_match_hint, counted, one_line

_NAME: Final = ".".join(map(str, CONFIG))
_LOSSLESS: Final = "fabric.switch.pfc.priorities"
"""What all switches have alike: one that pauses another needs to be obeyed."""
FILES_MAX: Final = 256
_SHOWN: Final = 4
NAME_LENGTH_MAX: Final = 4096
_IP_BYTES: Final = 20 + 8 + 12 + 16 + 4
"""What a first packet of RoCEv2 has beside payload: IPv4, UDP, BTH, RETH and ICRC [bytes]."""
_MTU, _RATE = 4096, "400Gbps"
"""Defaults of `transport.mtu` and of the rates of links, where a plan writes none."""
_LINKS: Final = frozenset({"host_link", "fabric_link", "core_link", "link"})

Dscp = Annotated[int, Field(ge=0, le=DSCP_MAX)]


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= NAME_LENGTH_MAX


def _files(value: object) -> Any:
    """Read the name of a file, a list of names, or names by the switches that they are of."""
    names: Any = [value] if isinstance(value, str) else value
    if isinstance(names, dict) and all(map(_is_name, names)):
        names = list(names.values())
    if isinstance(names, list | tuple) and 0 < len(names) <= FILES_MAX and all(map(_is_name, names)):
        return value if isinstance(value, dict) else tuple(names)
    found = f"a list of {len(names)}" if isinstance(value, list) else units.describe(value)
    allowed = f"the name of a file or folder, a list of up to {FILES_MAX}, or `{{leaf*: FILE, spine*: FILE}}`"
    raise units.UnitError(found, allowed)


class SwitchConfig(ShortModel):
    """Configuration of the switches: a file of SONiC, or a mapping."""

    short_key = "file"

    file: Annotated[
        Any,
        BeforeValidator(_files),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "string", "minLength": 1},
                    {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
                    {
                        "type": "object",
                        "additionalProperties": {"type": "string", "minLength": 1},
                        "minProperties": 1,
                    },
                ]
            }
        ),
    ] = Field(
        description=(
            "`config_db.json` of SONiC, a file next to the plan that holds for every switch; one for each, "
            "as `{leaf0: a.json, leaf*: b.json, spine*: c.json}`, or a folder with `NAME.json` of each; "
            "or a list of those of several switches, which have to come to the same."
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
    others: dict[str, Any] | None = Field(
        default=None,
        description="In a record: what each file gave, by the names of switches, if they differ.",
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


@dataclass(frozen=True)
class _Given:
    """A file, and what it gives to the plan."""

    sonic: Sonic
    fragment: Fragment

    @property
    def values(self) -> dict[str, tuple[Any, Place]]:
        """Its values, those of a plan without pools included, each with its place in the file."""
        values = (*self.fragment.values, *self.fragment.instead)
        return {each.field: (each.value, _place(self.sonic, each.origin)) for each in values}


class Configurations:
    """The configurations that a plan and its variants name, each file read once."""

    def __init__(self, plan_path: Path) -> None:
        """Take the file of the plan, next to which they are."""
        self._plan_path = plan_path
        self._read: dict[str, Sonic] = {}

    def applied(self, document: Document) -> Configured:
        """Return a plan, or a variant of one, with the values of its configuration where it has none.

        Raises:
            PlanError: A file cannot be read, or something in it is wrong or contradicts the plan.
        """
        written = document.value(CONFIG)
        config = written if isinstance(written, dict) and "file" in written else {"file": written}
        try:
            files = _files(config.get("file"))
        except units.UnitError:
            return Configured(document)  # the check of the fields says what is wrong with anything else
        if isinstance(config.get("values"), dict):
            return Configured(_recorded(config, document))
        files = self._by_switch(files)
        carried = _carried(config, document)
        names = list(files.values() if isinstance(files, dict) else files)
        given = [_Given(sonic, fragment_of(sonic, carried)) for sonic in self._files(names, document)]
        problems = [
            problem for each in given for problem in _contradictions(each.sonic, each.fragment, document)
        ]
        problems += _disagreements(given, document, is_for_each=isinstance(files, dict))
        if problems:
            raise PlanError(problems)
        by_name = dict(zip(dict.fromkeys(names), given, strict=True))
        values = given[0].values
        record: dict[str, Any] = {
            **{name: config[name] for name in ("data_dscp", "cnp_dscp") if name in config},
            "file": files if isinstance(files, dict) else config["file"],
            "sha256": ", ".join(each.sonic.file.sha256 for each in given),
            "values": {field: value for field, (value, _) in values.items()},
            "not_modelled": list(dict.fromkeys(told for each in given for told in each.fragment.left_out)),
            "differs": list(dict.fromkeys(told for each in given for told in each.fragment.warnings)),
        }
        configured = filled(document, values)
        if isinstance(files, dict):
            own = {switches: by_name[name].values for switches, name in files.items()}
            record["others"] = {
                switches: {field: value for field, (value, _) in each.items()}
                for switches, each in own.items()
            }
            configured = with_settings(configured, document, own)
        warnings = [warning for each in given for warning in _warnings(each.sonic, each.fragment, document)]
        return Configured(configured, record, tuple(warnings))

    def _by_switch(self, files: Any) -> Any:
        """Return the files of a folder by the names of their switches; anything else as it is."""
        folder = self._plan_path.parent / files[0] if isinstance(files, tuple) and len(files) == 1 else None
        if folder is None or self._plan_path == NO_FILE or "\0" in files[0] or not _is_folder(folder):
            return files
        found = {path.stem: f"{files[0]}/{path.name}" for path in sorted(folder.glob("*.json"))}
        if 0 < len(found) <= FILES_MAX:
            return found
        problem = Problem(
            Place(str(folder)),
            _NAME,
            f"{len(found)} files *.json",
            f"1 to {FILES_MAX}, `NAME.json` of each switch",
        )
        raise PlanError([problem])

    def _files(self, names: Iterable[str], document: Document) -> list[Sonic]:
        return [self._file(name, document) for name in dict.fromkeys(names)]

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
            self._read[name] = Sonic(configuration_of(content_of(path, str(path)), str(path)))
        return self._read[name]


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # as a name that is too long
        return False


def uncovered(document: Document, describe: Callable[[], Any]) -> Iterator[Problem]:
    """Yield that a plan with a file for each switch has none for some, or one for none.

    Args:
        document: The plan.
        describe: Returns the nodes of its fabric, as the engine does.
    """
    config = document.value(CONFIG)
    settings = document.value(SETTINGS)
    if config is None or not isinstance(settings, list):
        return
    names = [name for each in settings for name in each["switches"]]
    beginnings = tuple(name.removesuffix("*") for name in names if name.endswith("*"))
    switches = [node["name"] for node in describe()["nodes"] if node["kind"] == "switch"]
    for name in names:
        begins = name.removesuffix("*") if name.endswith("*") else None
        if not any(each == name or (begins is not None and each.startswith(begins)) for each in switches):
            found = f"a file for {shorten(name)}, which no switch is named"
            shown = ", ".join(switches[:_SHOWN]) + (" ..." if len(switches) > _SHOWN else "")
            yield document.problem(CONFIG, found, shown, close_match_hint(name, switches))
    bare = [each for each in switches if each not in names and not each.startswith(beginnings)]
    if bare:
        shown = ", ".join(bare[:_SHOWN]) + (f" and {len(bare) - _SHOWN} more" if len(bare) > _SHOWN else "")
        allowed = "a file for every switch, or `*` for all others"
        yield document.problem(CONFIG, f"no file for {shown}", allowed)


def override_of(record: Mapping[str, Any], variant: str = "") -> str:
    """Write a record as the override that gives a plan its values."""
    field = f"variants.{variant}.set.{_NAME}" if variant else _NAME
    return f"{field}={json.dumps(record)}"


def _recorded(config: Mapping[str, Any], document: Document) -> Document:
    """Return a plan with the values of a record, each at the place of the record."""
    place = document.place(CONFIG)
    others = config.get("others")
    own = others if isinstance(others, dict) else {}
    every = [config["values"], *(each for each in own.values() if isinstance(each, dict))]
    problems = [
        document.problem((*CONFIG, "values"), f"the field {shorten(str(name))}", ", ".join(sorted(FIELDS)))
        for values in every
        for name in values
        if name not in FIELDS
    ]
    if problems:
        raise PlanError(problems)

    def placed(values: Mapping[str, Any]) -> dict[str, tuple[Any, Place]]:
        return {name: (value, place) for name, value in values.items()}

    configured = filled(document, placed(config["values"]))
    if not own:
        return configured
    settings = {switches: placed(each) for switches, each in own.items() if isinstance(each, dict)}
    return with_settings(configured, document, settings)


def _disagreements(given: Sequence[_Given], document: Document, *, is_for_each: bool) -> Iterator[Problem]:
    """Yield the fields that files give different values, unless the plan has its own.

    Args:
        given: The files.
        document: The plan.
        is_for_each: Each switch has its file: only what holds for all of them has to agree.
    """
    first, *others = [
        ({each.field: each.value for each in one.fragment.values}, one.fragment.source) for one in given
    ]
    for values, source in others:
        for field in dict.fromkeys((*first[0], *values)):
            if is_for_each and field.startswith("fabric.switch.") and field != _LOSSLESS:
                continue
            one, other = (value_text(each.get(field, "nothing")) for each in (first[0], values))
            path = tuple(field.split("."))
            if one != other and is_open(opened(document, path, document.place(CONFIG)), path):
                found = f"{field} of {one} in {first[1]} and of {other} in {source}"
                allowed = "files that agree, as a list of them is for switches that are set up alike"
                hint = f"write `{field}` into the plan"
                if is_for_each:
                    allowed = "files that agree on what holds for all switches"
                else:
                    hint += ", or give each switch its own: `file: {leaf*: FILE, spine*: FILE}`"
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
    for name, what in (("pfc", "PFC"), ("ecn", "WRED")):
        is_given = any(each.field.startswith(f"fabric.switch.{name}.") for each in fragment.values)
        if not is_given and document.value((*SWITCH, name)) in ("on", True):
            found = f"on, while {sonic.file.source} has no {what} for the priority of data"
            allowed = "`off`, a mapping of its own, or data in another priority"
            yield document.problem((*SWITCH, name), found, allowed)
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
