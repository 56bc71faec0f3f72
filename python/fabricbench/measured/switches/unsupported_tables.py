"""Detects counters in formats without a parser here, by lines and names that only one device or tool prints.

`of_text` and `of_json` return the format as `Foreign`, with a hint for the error message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fabricbench.measured.file_text.document import Document


@dataclass(frozen=True)
class Foreign:
    """A known form of counters that cannot be read.

    Attributes:
        name: The form, for the error.
        text: A pattern of a line that no other form has.
        keys: A pattern of names in its JSON.
        hint: How to get readable counters from such a device.
    """

    name: str
    text: re.Pattern[str]
    keys: re.Pattern[str]
    hint: str


_NEVER: Final = re.compile(r"(?!)")
_BY_GNMI: Final = (
    "take OpenConfig by gNMI: `gnmic get --path /interfaces/interface/state/counters --path /qos`, which "
    "this device answers"
)
_FORMS: Final[Sequence[Foreign]] = (
    Foreign(
        "counters of Cisco NX-OS",
        re.compile(
            r"slot\s+\d+\s*|Egress Queuing for \S+ .*"
            r"|Port\s+Mode\s+Oper\s*\(\s*VL bmap\s*\)\s+RxPPP\s+TxPPP.*|\s*QOS GROUP\s.*"
            r"|\s*\|\s*QOS GROUP \d+\s*\|.*|Port\s+Align-Err\s+FCS-Err\s+Xmit-Err\s+Rcv-Err.*"
            r"|\s*\d+ unicast packets\s+\d+ multicast packets\s+\d+ broadcast packets\s*"
            r"|.*\bTxPPP\b.*|Port\s+Single-Col\s+Multi-Col\s.*"
            r"|.*\(\s*VL bmap\s*\).*|\s*[RT]xPause\s*: No\. of pause frames (?:received|transmitted)\s*"
            r"|.*\bNXOS: version\b.*|Cisco Nexus Operating System.*"
        ),
        re.compile(r"(?:TABLE|ROW)_\w+"),
        _BY_GNMI,
    ),
    Foreign(
        "counters of Arista EOS",
        re.compile(
            r"\s*Port\s+InOctets\s+InUcastPkts\s+InMcastPkts\s+InBcastPkts\s*"
            r"|\s*Port\s+OutOctets\s+OutUcastPkts\s+OutMcastPkts\s+OutBcastPkts\s*"
            r"|\s*Port\s+(?:InDiscards|InTotalDiscards|InDisc)\s+(?:OutDiscards|OutTotalDiscards|OutDisc)\s*"
            r"|\s*Port\s+FCS\s+Align\s+Symbol\s+Rx\s+Runts.*|\s*Port\s+RxPfc\s+TxPfc\s*|.*\bRxPfc\b.*\bTxPfc\b.*"
            r"|\s*Port\s+Priority\s+(?:RxPause|RxPfc|TxPfc).*|\s*Et\d+(?:/\d+)*\s+.*"
        ),
        re.compile(
            r"(?:in|out)(?:Octets|UcastPkts|Discards)|egressQueueCounters|priorityFlowControl\w*|inTotalPkts"
        ),
        _BY_GNMI,
    ),
    Foreign(
        "counters of NVUE (Cumulus Linux)",
        re.compile(
            r"\s*(?:cumulus@\S+[$#] )?nv show .*|\s*swp\d+(?:s\d+)?\s+.*"
            r"|\s*(?:Ingress Buffer|Egress Queue) Statistics\s*"
        ),
        re.compile(
            r"swp\d+(?:s\d+)?|(?:egress-queue|ingress-buffer|pfc|qos)-stats|in-bytes|out-bytes|carrier-(?:up|down)-count"
        ),
        "give `ethtool -S swpN` of each port with the command lines, or OpenConfig by gNMI",
    ),
    Foreign(
        "counters of Junos",
        re.compile(
            r"\s*Physical interface: \S+.*|\s*Queue counters:\s+Queued packets\s+Transmitted packets.*"
        ),
        re.compile(r"interface-information|queue-counters"),
        _BY_GNMI,
    ),
    Foreign(
        "counters of the command line of Enterprise SONiC (Klish)",
        re.compile(r"\s*Interface\s+State\s+RX_OK\s.*|sonic# .*"),
        _NEVER,
        "write `show interfaces counters` of the Linux shell of the switch, or a dump of COUNTERS_DB",
    ),
    Foreign(
        "counters of NVIDIA Onyx or of InfiniBand tools",
        re.compile(r"\s*# Port counters:.*|\s*PortXmitData:\.+.*|\s*PortSelect:\.+.*"),
        _NEVER,
        "on the host, `grep . /sys/class/infiniband/*/ports/*/counters/*` has the same counters by name",
    ),
    Foreign(
        "pause counters of `show flowcontrol` (Cisco or Arista)",
        re.compile(r"\s*(?:Port|Interface)\s+(?:Send|Receive)\s.*\b[RT]xPause\b.*"),
        _NEVER,
        _BY_GNMI,
    ),
    Foreign(
        "samples of Prometheus",
        re.compile(r"# (?:HELP|TYPE) \S+ .*"),
        _NEVER,
        "take the counters from the device itself, in one of these forms",
    ),
)


def of_text(document: Document) -> Foreign | None:
    """Return the known form of a text; none if no form matches."""
    texts = [line.text for line in document.lines]
    return next((form for form in _FORMS if any(form.text.fullmatch(text) for text in texts)), None)


def of_json(values: Sequence[Any]) -> Foreign | None:
    """Return the known form of JSON by its names; none if no form matches."""
    names = set(_names(values, 0))
    return next((form for form in _FORMS if any(form.keys.fullmatch(name) for name in names)), None)


_DEPTH_MAX: Final = 6
_NAMES_MAX: Final = 200


def _names(value: Any, depth: int) -> Iterator[str]:
    """Yield the names of objects down to a depth."""
    if depth > _DEPTH_MAX:
        return
    if isinstance(value, dict):
        for name, content in list(value.items())[:_NAMES_MAX]:
            yield str(name)
            yield from _names(content, depth + 1)
    elif isinstance(value, list):
        for item in value[:_NAMES_MAX]:
            yield from _names(item, depth + 1)
