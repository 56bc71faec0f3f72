"""Benchmark of queue pairs between two network namespaces, compared with bare sockets in the same run.

    python tools/bench_endpoint.py [--seconds 3] [--rounds 3] [--only NAME]

Makes two namespaces joined by a veth of MTU 4500, which needs root, and runs both ends of
`crates/endpoint/benches/speed` there, each on its own core. For each case it prints application data [Gb/s]
as counted by the receiver, the ratio to a loop of bare sockets in the same round, messages per second, and
processor seconds per gigabyte of each end. The best of all rounds counts: other load can only slow a round
down.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
MTU: Final = 4500
SENDER, RECEIVER = "10.91.0.1", "10.91.0.2"
PORT: Final = 4791


@dataclass(frozen=True, slots=True)
class Case:
    """A case: method of sending, number of queue pairs, and size of each WRITE."""

    name: str
    mode: str
    pairs: int
    message_bytes: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Results of one round of a case."""

    goodput_gbps: float
    messages_per_s: float
    sender_cpu_s_per_gb: float
    receiver_cpu_s_per_gb: float


CASES: Final = (
    Case("bare", "bare", 1, 4096),
    Case("1 queue pair", "write", 1, 1 << 20),
    Case("10,000 queue pairs", "write", 10_000, 1 << 16),
    Case("64 bytes", "write", 1, 64),
)


def build() -> Path:
    """Build the benchmark and return its path."""
    command = ["cargo", "bench", "--no-run", "--locked", "--message-format=json", "--bench", "speed"]
    process = subprocess.run(
        [*command, "-p", "fabricbench-endpoint"], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True
    )
    messages = map(json.loads, process.stdout.splitlines())
    speed_messages = (message for message in messages if message.get("target", {}).get("name") == "speed")
    return next(Path(message["executable"]) for message in speed_messages)


@contextmanager
def namespaces() -> Iterator[tuple[str, str]]:
    """Two namespaces joined by a veth, for as long as the context lasts."""
    names = (f"fb-bench-{os.getpid()}-s", f"fb-bench-{os.getpid()}-r")
    sending, receiving = names
    try:
        for name in names:
            ip("netns", "add", name)
        peer = ("peer", "name", "veth", "mtu", str(MTU), "netns", receiving)
        ip("-n", sending, "link", "add", "veth", "mtu", str(MTU), "type", "veth", *peer)
        for name, address in zip(names, (SENDER, RECEIVER), strict=True):
            ip("-n", name, "address", "add", f"{address}/24", "dev", "veth")
            ip("-n", name, "link", "set", "veth", "up")
            # Packets arrive in the segments in which they were sent, as from an adapter with GRO.
            subprocess.run(["ip", "netns", "exec", name, "ethtool", "-K", "veth", "gro", "on"], check=False)
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], check=False, stderr=subprocess.DEVNULL)


def ip(*arguments: str) -> None:
    """Run `ip` of iproute2."""
    subprocess.run(["ip", *arguments], check=True)


def end(program: Path, case: Case, seconds: float, namespace: str, role: str) -> subprocess.Popen[str]:
    """Start one end of a case."""
    addresses = (f"{SENDER}:{PORT}", f"{RECEIVER}:{PORT}")
    local, peer = addresses if role == "send" else addresses[::-1]
    core = "0" if role == "send" else "1"
    sizes = (str(case.pairs), str(case.message_bytes), str(seconds))
    command = ["ip", "netns", "exec", namespace, "taskset", "-c", core, str(program), role, case.mode]
    return subprocess.Popen([*command, local, peer, *sizes], stdout=subprocess.PIPE, text=True)


def run(program: Path, case: Case, seconds: float, names: tuple[str, str]) -> Outcome:
    """One round of a case."""
    receiver = end(program, case, seconds, names[1], "receive")
    # The receiver has bound its socket before anything is sent.
    while not is_bound(names[1]):
        if receiver.poll() is not None:
            sys.exit(f"error: the receiver of {case.name!r} ended with status {receiver.returncode}")
    sender = end(program, case, seconds, names[0], "send")
    try:
        outputs = [process.communicate(timeout=seconds + 60)[0] for process in (sender, receiver)]
    finally:
        sender.kill()
        receiver.kill()
    if sender.returncode or receiver.returncode:
        sys.exit(f"error: an end of {case.name!r} failed")
    sent, received = map(json.loads, outputs)
    gigabytes = received["bytes"] / 1e9
    return Outcome(
        goodput_gbps=received["bytes"] * 8 / received["wall_ns"],
        messages_per_s=sent["count"] * 1e9 / sent["wall_ns"],
        sender_cpu_s_per_gb=sent["cpu_ns"] / 1e9 / (sent["bytes"] / 1e9),
        receiver_cpu_s_per_gb=received["cpu_ns"] / 1e9 / gigabytes,
    )


def is_bound(namespace: str) -> bool:
    """Whether a socket listens on the port in a namespace."""
    listing = subprocess.run(
        ["ip", "netns", "exec", namespace, "ss", "-Hlun"], stdout=subprocess.PIPE, text=True, check=True
    )
    return f":{PORT} " in listing.stdout


def write(line: str) -> None:
    """Write a line of the table."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """Run all cases in rounds and print the best of each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each case sends (default: 3)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each case runs (default: 3)")
    parser.add_argument("--only", help="one case beside the bare loop")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("error: network namespaces need root\nhint: run it by sudo, or in a container as root")
    cases = [case for case in CASES if arguments.only in (None, case.name) or case.mode == "bare"]
    program = build()
    write(f"{'case':20} {'Gb/s':>7} {'of bare':>8} {'messages/s':>11} {'send s/GB':>10} {'receive s/GB':>13}")
    best: dict[str, tuple[float, Outcome]] = {}
    with namespaces() as names:
        for _ in range(arguments.rounds):
            bare = 1.0
            for case in cases:
                outcome = run(program, case, arguments.seconds, names)
                bare = outcome.goodput_gbps if case.mode == "bare" else bare
                ratio_and_outcome = (outcome.goodput_gbps / bare, outcome)
                best[case.name] = max(
                    best.get(case.name, ratio_and_outcome),
                    ratio_and_outcome,
                    key=lambda pair: pair[1].goodput_gbps,
                )
    for name, (ratio, outcome) in best.items():
        write(
            f"{name:20} {outcome.goodput_gbps:7.2f} {ratio:8.1%} {outcome.messages_per_s:11,.0f} "
            f"{outcome.sender_cpu_s_per_gb:10.3f} {outcome.receiver_cpu_s_per_gb:13.3f}"
        )


if __name__ == "__main__":
    main()
