"""Detects outputs of known tools that have no parser here, by lines and names that only the tool prints.

`tool_of` and `tool_of_json` return the name of the tool, `hint` the hint for the error message.
"""

from __future__ import annotations

import re
from typing import Any, Final

from fabricbench.measured.file_text.document import Document

_TEXTS: Final = (
    (
        "iperf3",
        re.compile(
            r"iperf 3\.\d.*|Connecting to host \S+, port \d+.*"
            r"|\[ *\d+\] local \S+ port \d+ connected to \S+ port \d+\s*"
            r"|\[ *(?:ID|\d+|SUM)\] +(?:Interval|\d+\.\d+-).*(?:Bitrate|Bandwidth|bits/sec).*|iperf Done\.\s*"
        ),
    ),
    (
        "iperf 2",
        re.compile(
            r"Client connecting to \S+, (?:TCP|UDP) port \d+.*|Server listening on (?:TCP|UDP) port \d+.*"
        ),
    ),
    ("netperf", re.compile(r"(?:MIGRATED )?(?:TCP|UDP|OMNI)[ _](?:\S+ )*TEST (?:from|to) .*")),
    ("qperf", re.compile(r"(?:rc|ud|uc|tcp|udp|sdp)_(?:rdma_\w+_)?(?:bw|lat|bi_bw|mr):")),
    ("sockperf", re.compile(r"sockperf: .*")),
    ("ucx_perftest", re.compile(r"\+-+\+-+\+.*|\| +(?:API|Test): .*\|")),
    ("nvbandwidth", re.compile(r"nvbandwidth Version: .*|.*memcpy (?:CE|SM) .*bandwidth.*")),
    ("PARAM comms", re.compile(r"\s*COMMS-RES-\S+.*")),
    ("fio", re.compile(r".*\bfio-\d+\.\d+.*|\s*(?:read|write)\s*: IOPS=.*")),
)
_HINT_OF: Final = (
    "it has no time of an operation of ranks: import nccl-tests, rccl-tests, perftest, OSU or IMB"
)
RAS_HINT: Final = "`fabricbench explain FILE` says which ranks are behind"


def tool_of(document: Document) -> str:
    """Return the tool that printed a text; empty if no tool matches."""
    texts = [line.text.strip() for line in document.lines[:_LINES_MAX]]
    return next((name for name, each in _TEXTS if any(each.fullmatch(text) for text in texts)), "")


_LINES_MAX: Final = 2_000


def tool_of_json(content: Any) -> str:
    """Return the tool that wrote a JSON document; empty if no tool matches."""
    if not isinstance(content, dict):
        return ""
    start = content.get("start")
    if isinstance(start, dict) and ("test_start" in start or "iperf" in str(start.get("version", ""))):
        return "iperf3"
    if "fio version" in content:
        return "fio"
    if "nvbandwidth" in content:
        return "nvbandwidth"
    return ""


def hint(tool: str) -> str:
    """Return the hint for the output of a tool."""
    if tool.startswith("iperf"):
        return f"{tool} measures streams of TCP or UDP, {_HINT_OF}"
    return _HINT_OF
