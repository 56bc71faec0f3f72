"""A data plane that sends plain datagrams, slowly: what is tried is the control plane."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from fabricbench.hosts.protocol import RefusedError

GAP_S = 0.005


@dataclass
class PlainRun:
    """Sends a datagram to each peer every few milliseconds until it has sent `count` of them."""

    address: str
    hosts: Sequence[int]
    count: int
    peers: list[tuple[str, int]] = field(default_factory=list)
    state: str = "running"
    reason: str = ""
    sent_count: int = 0
    started_ns: int = 0

    def __post_init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((self.address, 0))
        self._ended = threading.Event()

    def addresses(self) -> bytes:
        return json.dumps(self._socket.getsockname()).encode()

    def connect(self, peers: Mapping[int, bytes]) -> None:
        others = [value for number, value in peers.items() if number not in self.hosts]
        self.peers = [tuple(json.loads(each)) for each in others]

    def start(self, at_ns: int) -> None:
        self.started_ns = at_ns
        threading.Thread(target=self._send, daemon=True).start()

    def _send(self) -> None:
        time.sleep(max(self.started_ns - time.monotonic_ns(), 0) / 1e9)
        while self.sent_count < self.count and self.state == "running":
            for peer in self.peers:
                with suppress(OSError):  # the test has ended
                    self._socket.sendto(b"x" * 100, peer)
            self.sent_count += 1
            time.sleep(GAP_S)
        if self.state == "running":
            self.state = "drained"
        self._ended.set()

    def keep_alive(self) -> None:
        pass

    def stop(self, reason: str) -> None:
        if self.state == "running":
            self.state, self.reason = "stopped", reason
        self._ended.set()

    def progress(self) -> Mapping[str, Any]:
        elapsed_ps = max(time.monotonic_ns() - self.started_ns, 0) * 1000 if self.started_ns else 0
        return {
            "delivered_bytes": self.sent_count * 100,
            "total_bytes": self.count * 100,
            "elapsed_ps": elapsed_ps,
            "state": self.state,
            "reason": self.reason,
            "is_idle": False,
        }

    def wait(self, timeout_s: float) -> bool:
        return self._ended.wait(timeout_s)

    def sent(self) -> bytes:
        return b"sent" * 600_000

    def received(self) -> bytes:
        return b"received"

    def close(self) -> None:
        self.stop("closed")
        self._socket.close()

    def counters(self) -> Mapping[str, int | float]:
        return {"datagrams": self.sent_count, "cpu_s": 0.5}


@dataclass
class PlainPlane:
    """Makes plain runs."""

    count: int = 50
    runs: list[PlainRun] = field(default_factory=list)

    def drivers(self, address: str = "") -> Mapping[str, str]:  # noqa: ARG002
        return {"roce": "", "tcp": "", "verbs": "libibverbs.so.1 is missing"}

    def prepare(self, spec_json: str, hosts: Sequence[int], driver: str, settings_json: str) -> PlainRun:  # noqa: ARG002
        settings = json.loads(settings_json)
        if "unknown" in settings:
            raise RefusedError("settings.unknown", "an unknown setting", "verify")
        self.runs.append(PlainRun(settings["address"], hosts, self.count))
        return self.runs[-1]
