"""Configures the switches of a plan from SONiC files that its field `fabric.switch.config` names.

The values of a file replace defaults, as those of a host profile do; values that the plan, a variant or an
override writes have priority. The values are stored with each trial, so that a stored trial needs no file.
Fields of the plan that contradict a file, and switches without a file, are reported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fabricbench import units
from fabricbench.plan.devices.fragment import Fragment, value_text
from fabricbench.plan.devices.json_text import content_of
from fabricbench.plan.devices.sonic_config.config_db import Sonic
from fabricbench.plan.devices.sonic_config.conversion import FIELDS, TrafficPriorities, fragment_of
from fabricbench.plan.devices.sonic_config.redis_dump import configuration_of
from fabricbench.plan.devices.sonic_config.tables import DSCP_MAX, PRIORITIES
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
from fabricbench.plan.fabric.switches.model import FILES_MAX, config_files
from fabricbench.words import close_match_hint, counted, one_line

_NAME: Final = ".".join(map(str, CONFIG))
_LOSSLESS: Final = "fabric.switch.pfc.priorities"
"""Field that must be equal for all switches: a switch must obey the pauses of its neighbours."""
_SHOWN: Final = 4
_IP_BYTES: Final = 20 + 8 + 12 + 16 + 4
"""Bytes of a first packet of RoCEv2 without payload: IPv4, UDP, BTH, RETH and ICRC [bytes]."""
_MTU, _RATE = 4096, "400Gbps"
"""Defaults of `transport.mtu` and of the rates of links."""
_LINKS: Final = frozenset({"host_link", "fabric_link", "core_link", "link"})


@dataclass(frozen=True)
class Configured:
    """A plan, or a variant of one, with the values of its configuration.

    Attributes:
        document: The plan.
        record: `fabric.switch.config` with the values; none if a file was not read.
        warnings: Its warnings.
    """

    document: Document
    record: Mapping[str, Any] | None = None
    warnings: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class _ReadFile:
    """A file that has been read, and its fields for the plan."""

    sonic: Sonic
    fragment: Fragment

    @property
    def values(self) -> dict[str, tuple[Any, Place]]:
        """Its values, including those of a plan without pools, each with its location in the file."""
        values = (*self.fragment.values, *self.fragment.instead)
        return {value.field: (value.value, _place(self.sonic, value.origin)) for value in values}


class Configurations:
    """The configurations that a plan and its variants name, each file read once."""

    def __init__(self, plan_path: Path) -> None:
        """Set the file of the plan; names are relative to its folder."""
        self._plan_path = plan_path
        self._read: dict[str, Sonic] = {}

    def applied(self, document: Document) -> Configured:
        """Return a plan, or a variant of one, with the values of its configuration where it has none.

        Raises:
            PlanError: A file cannot be read, has errors, or contradicts the plan.
        """
        config_value = document.value(CONFIG)
        config = (
            config_value
            if isinstance(config_value, dict) and "file" in config_value
            else {"file": config_value}
        )
        try:
            files = config_files(config.get("file"))
        except units.UnitError:
            return Configured(document)  # the check of the fields reports any other value
        if isinstance(config.get("values"), dict):
            return Configured(_with_record(config, document))
        files = self._by_switch(files)
        traffic = _priorities_of(config, document)
        names = list(files.values() if isinstance(files, dict) else files)
        read_files = [_ReadFile(sonic, fragment_of(sonic, traffic)) for sonic in self._files(names, document)]
        problems = [
            problem
            for read_file in read_files
            for problem in _contradictions(read_file.sonic, read_file.fragment, document)
        ]
        problems += _different_values(read_files, document, is_for_each=isinstance(files, dict))
        if problems:
            raise PlanError(problems)
        by_name = dict(zip(dict.fromkeys(names), read_files, strict=True))
        values = read_files[0].values
        record: dict[str, Any] = {
            **{name: config[name] for name in ("data_dscp", "cnp_dscp") if name in config},
            "file": files if isinstance(files, dict) else config["file"],
            "sha256": ", ".join(read_file.sonic.file.sha256 for read_file in read_files),
            "values": {field: value for field, (value, _) in values.items()},
            "not_modelled": list(
                dict.fromkeys(text for read_file in read_files for text in read_file.fragment.left_out)
            ),
            "differs": list(
                dict.fromkeys(text for read_file in read_files for text in read_file.fragment.warnings)
            ),
        }
        configured = filled(document, values)
        if isinstance(files, dict):
            values_by_switches = {switches: by_name[name].values for switches, name in files.items()}
            record["others"] = {
                switches: {field: value for field, (value, _) in read_file.items()}
                for switches, read_file in values_by_switches.items()
            }
            configured = with_settings(configured, document, values_by_switches)
        warnings = [
            warning
            for read_file in read_files
            for warning in _warnings(read_file.sonic, read_file.fragment, document)
        ]
        return Configured(configured, record, tuple(warnings))

    def _by_switch(self, files: Any) -> Any:
        """Return the files of a folder by the names of their switches; any other value unchanged."""
        folder = self._plan_path.parent / files[0] if isinstance(files, tuple) and len(files) == 1 else None
        if folder is None or self._plan_path == NO_FILE or "\0" in files[0] or not _is_folder(folder):
            return files
        files_by_switch = {path.stem: f"{files[0]}/{path.name}" for path in sorted(folder.glob("*.json"))}
        if 0 < len(files_by_switch) <= FILES_MAX:
            return files_by_switch
        problem = Problem(
            Place(str(folder)),
            _NAME,
            f"{len(files_by_switch)} files *.json",
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
                actual = f'"{shown}" of a plan that is no file'
                raise PlanError([document.problem(CONFIG, actual, "a file next to the plan", hint)])
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
    """Yield the switches without a file, and the files without a switch, of a plan with a file for each.

    Args:
        document: The plan.
        describe: Returns the nodes of its fabric, as the engine does.
    """
    config = document.value(CONFIG)
    settings = document.value(SETTINGS)
    if config is None or not isinstance(settings, list):
        return
    names = [name for entry in settings for name in entry["switches"]]
    prefixes = tuple(name.removesuffix("*") for name in names if name.endswith("*"))
    switches = [node["name"] for node in describe()["nodes"] if node["kind"] == "switch"]
    for name in names:
        prefix = name.removesuffix("*") if name.endswith("*") else None
        if not any(entry == name or (prefix is not None and entry.startswith(prefix)) for entry in switches):
            actual = f"a file for {shorten(name)}, which no switch is named"
            shown = ", ".join(switches[:_SHOWN]) + (" ..." if len(switches) > _SHOWN else "")
            yield document.problem(CONFIG, actual, shown, close_match_hint(name, switches))
    switches_without_file = [
        entry for entry in switches if entry not in names and not entry.startswith(prefixes)
    ]
    if switches_without_file:
        shown = ", ".join(switches_without_file[:_SHOWN]) + (
            f" and {len(switches_without_file) - _SHOWN} more" if len(switches_without_file) > _SHOWN else ""
        )
        allowed = "a file for every switch, or `*` for all others"
        yield document.problem(CONFIG, f"no file for {shown}", allowed)


def override_of(record: Mapping[str, Any], variant: str = "") -> str:
    """Return a record as an override that sets its values in a plan."""
    field = f"variants.{variant}.set.{_NAME}" if variant else _NAME
    return f"{field}={json.dumps(record)}"


def _with_record(config: Mapping[str, Any], document: Document) -> Document:
    """Return a plan with the values of a record, each with the location of the record."""
    place = document.place(CONFIG)
    others = config.get("others")
    values_by_switches = others if isinstance(others, dict) else {}
    all_values = [
        config["values"],
        *(switch_values for switch_values in values_by_switches.values() if isinstance(switch_values, dict)),
    ]
    problems = [
        document.problem((*CONFIG, "values"), f"the field {shorten(str(name))}", ", ".join(sorted(FIELDS)))
        for values in all_values
        for name in values
        if name not in FIELDS
    ]
    if problems:
        raise PlanError(problems)

    def placed(values: Mapping[str, Any]) -> dict[str, tuple[Any, Place]]:
        return {name: (value, place) for name, value in values.items()}

    configured = filled(document, placed(config["values"]))
    if not values_by_switches:
        return configured
    settings = {
        switches: placed(switch_values)
        for switches, switch_values in values_by_switches.items()
        if isinstance(switch_values, dict)
    }
    return with_settings(configured, document, settings)


def _different_values(
    read_files: Sequence[_ReadFile], document: Document, *, is_for_each: bool
) -> Iterator[Problem]:
    """Yield the fields with different values in several files, unless the plan has its own.

    Args:
        read_files: The files.
        document: The plan.
        is_for_each: Each switch has its file: only fields of all switches have to be equal.
    """
    first, *others = [
        ({value.field: value.value for value in read_file.fragment.values}, read_file.fragment.source)
        for read_file in read_files
    ]
    for values, source in others:
        for field in dict.fromkeys((*first[0], *values)):
            if is_for_each and field.startswith("fabric.switch.") and field != _LOSSLESS:
                continue
            first_text, other_text = (
                value_text(field_values.get(field, "nothing")) for field_values in (first[0], values)
            )
            path = tuple(field.split("."))
            if first_text != other_text and is_open(opened(document, path, document.place(CONFIG)), path):
                actual = f"{field} of {first_text} in {first[1]} and of {other_text} in {source}"
                allowed = "files that agree, as a list of them is for switches that are set up alike"
                hint = f"write `{field}` into the plan"
                if is_for_each:
                    allowed = "files that agree on what holds for all switches"
                else:
                    hint += ", or give each switch its own: `file: {leaf*: FILE, spine*: FILE}`"
                yield document.problem(CONFIG, actual, allowed, hint)


def _priorities_of(config: Mapping[str, Any], document: Document) -> TrafficPriorities:
    """Return the priorities of data and CNPs in the plan, and those of its other traffic."""

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
        priority("tcp", index, "priority") or 0 for index in range(len(tcp) if isinstance(tcp, list) else 0)
    }
    dscps = {
        name: config[name]
        for name in ("data_dscp", "cnp_dscp")
        if type(config.get(name)) is int and 0 <= config[name] <= DSCP_MAX
    }
    return TrafficPriorities(
        priority("transport", "priorities", "data"),
        dscps.get("data_dscp"),
        dscps.get("cnp_dscp"),
        frozenset(others),
    )


def _place(sonic: Sonic, origin: str) -> Place:
    """Return the location of a value in the file."""
    entry, _, field = origin.partition(" + ")[0].partition(": ")
    return sonic.file.place((*entry.split("|", 1), field.partition(" ")[0]))


def _contradictions(sonic: Sonic, fragment: Fragment, document: Document) -> Iterator[Problem]:
    """Yield the fields of the plan that contradict the configuration of the switches."""
    path: FieldPath = ("transport", "priorities", "data")
    written = document.value(path)
    value = next(
        (field_value for field_value in fragment.values if field_value.field == "transport.priorities.data"),
        None,
    )
    if value is not None and type(written) is int and written != value.value:
        actual = (
            f"{written}, while {sonic.file.source} takes {value.origin.replace(': ', ' ')} to {value.value}"
        )
        yield document.problem(path, actual, f"{value.value}, or no `data_dscp`")
    for name, feature in (("pfc", "PFC"), ("ecn", "WRED")):
        has_feature = any(
            field_value.field.startswith(f"fabric.switch.{name}.") for field_value in fragment.values
        )
        if not has_feature and document.value((*SWITCH, name)) in ("on", True):
            actual = f"on, while {sonic.file.source} has no {feature} for the priority of data"
            allowed = "`off`, a mapping of its own, or data in another priority"
            yield document.problem((*SWITCH, name), actual, allowed)
    mtu = document.value(("transport", "mtu"))
    mtu = _MTU if mtu is None else mtu
    port_mtus = [port.mtu for port in sonic.ports if port.mtu is not None]
    if type(mtu) is int and port_mtus and min(port_mtus) < mtu + _IP_BYTES:
        actual = f"{mtu}, with packets of {mtu + _IP_BYTES} bytes"
        allowed = f"packets up to the mtu of PORT in {sonic.file.source}, {min(port_mtus)} bytes"
        yield document.problem(("transport", "mtu"), actual, allowed)


def _warnings(sonic: Sonic, fragment: Fragment, document: Document) -> Iterator[Problem]:
    for text in fragment.warnings:
        yield document.problem(CONFIG, text)
    speeds = {port.speed_bps for port in sonic.ports if port.speed_bps}
    rates = set(_rates(document.value(("fabric", "topology")))) or {units.parse_rate(_RATE)}
    if speeds and not rates <= speeds:
        other = ", ".join(units.format_rate(rate) for rate in sorted(rates - speeds))
        ports = ", ".join(units.format_rate(rate) for rate in sorted(speeds))
        actual = f"ports of {ports}, while links of the plan have {other}"
        yield document.problem(CONFIG, actual, hint="set the rates of `fabric.topology`")
    if fragment.left_out:
        shown = one_line(str(sonic.file.source), 200)
        actual = f"{counted(len(fragment.left_out), 'setting')} that the model leaves out"
        hint = f"`fabricbench convert {shown}` lists them, and so does the report"
        yield document.problem(CONFIG, actual, hint=hint)


def _rates(node: Any, name: str = "") -> Iterator[int]:
    """Yield the rates of links that a topology writes [bit/s]."""
    rate = node.get("rate") if isinstance(node, dict) else node
    if name in _LINKS and isinstance(rate, str):
        try:
            yield units.parse_rate(rate)
        except units.UnitError:
            return  # the check of the fields reports it
    elif isinstance(node, dict):
        for key, child in node.items():
            yield from _rates(child, key)
    elif isinstance(node, list):
        for child in node:
            yield from _rates(child, name)
