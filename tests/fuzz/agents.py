"""Calls of an agent's protocol in any order, sound or damaged, against a live agent without TLS.

An agent takes a call, or refuses it in words, whatever came before: it never hangs or ends, sends nothing
unless a run was prepared, connected, armed and started, and does not grow.
"""

from __future__ import annotations

import atexit
import json
import random
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import grpc
from tests.fuzz import mutate

from fabricbench.hosts.channels import METADATA
from fabricbench.hosts.proto import agent_pb2 as pb
from fabricbench.hosts.protocol import OPTIONS, PROTOCOL_KEY
from fabricbench.plan.load import load_plan

SERVICE: Final = "/fabricbench.agent.v1.Agent/"
RUN: Final = b"fuzz-fuzz-fuzz-1"
ADDRESS: Final = "127.0.0.1"
CALL_S: Final = 20.0
UP_S: Final = 30.0
END_S: Final = 20.0
AGENT_BYTES_MAX: Final = 512 << 20
"""Far more than an agent has, far less than what a call could ask for."""
_ANSWERS: Final = frozenset(
    {
        grpc.StatusCode.OK,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.UNIMPLEMENTED,
        # A message that is none never reaches the agent's own code.
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.CANCELLED,
    }
)
_TO_START: Final = ("Prepare", "Connect", "Arm", "Start")


@cache
def _spec() -> dict[str, Any]:
    overrides = ['jobs.0.ranks="0-1"', "sweep.data_size=[4KB]", "criteria=[]"]
    found: dict[str, Any] = json.loads(load_plan("jct-alltoall", overrides).trials[0].spec_json)
    return found


def _peers() -> dict[int, bytes]:
    told = {"address": ADDRESS, "port": 47_000, "receive_buffer_bytes": 1 << 20}
    return {number: json.dumps(told).encode() for number in (0, 1)}


def _prepare(draw: random.Random) -> pb.PrepareRequest:
    spec = _spec() if draw.random() < 0.5 else mutate.mutated(draw, _spec(), (_spec(),))
    text = mutate.written(spec)
    settings = json.dumps({"address": ADDRESS}) if draw.random() < 0.8 else mutate.written(mutate.wrong(draw))
    return pb.PrepareRequest(
        run=RUN,
        controller=draw.choice(["somebody", "", "x" * 5_000]),
        spec_json=text.encode("utf-8", "replace").decode(),
        hosts=draw.choice([[0], [0], [0], [1], [0, 0], [], [2**32 - 1], [0, 1], [7]]),
        driver=draw.choice(["roce", "roce", "roce", "tcp", "", "verbs", "x" * 999]),
        settings_json=settings.encode("utf-8", "replace").decode(),
        address=draw.choice([ADDRESS, ADDRESS, ADDRESS, "", "192.0.2.1", "::1", "x", "127.0.0.1/8"]),
        peers=draw.choice([[ADDRESS], [ADDRESS], [], ["10.0.0.1"], ["x"] * 99]),
    )


def _message(name: str, draw: random.Random) -> bytes:
    """Return a sound message of a call; its run is that of `_prepare`, or another."""
    run = draw.choice([RUN, RUN, RUN, RUN, b"", b"x" * 16, b"x" * 99])
    at_ns = draw.choice([0, -1, 2**63 - 1, 10**18])
    made: dict[str, Any] = {
        "Ping": pb.PingRequest,
        "Describe": lambda: pb.DescribeRequest(address=draw.choice(["", ADDRESS, "x", "::1"])),
        "Prepare": lambda: _prepare(draw),
        "Connect": lambda: pb.ConnectRequest(run=run, peers=_peers()),
        "Arm": lambda: pb.ArmRequest(run=run),
        "Start": lambda: pb.StartRequest(run=run, at_ns=at_ns),
        "Watch": lambda: pb.Heartbeat(run=run),
        "Stop": lambda: pb.StopRequest(run=run, reason=draw.choice(["", "x" * 9_000])),
        "Collect": lambda: pb.CollectRequest(run=run),
        "Release": lambda: pb.ReleaseRequest(run=run),
    }
    return bytes(made[name]().SerializeToString()) if name in made else b""


_NAMES: Final = (*_TO_START, "Ping", "Describe", "Watch", "Stop", "Collect", "Release", "Start", "Nothing")


def _damaged(draw: random.Random, message: bytes) -> bytes:
    how = draw.random()
    if how < 0.6:
        return message
    if how < 0.7:
        return draw.randbytes(draw.choice([0, 1, 5, 200, 5_000]))
    changed = bytearray(message)
    for _ in range(draw.choice([1, 2, 10])):
        place = draw.randrange(len(changed) + 1)
        changed[place : place + draw.choice([0, 1, 1, 4])] = draw.randbytes(draw.choice([0, 1, 1, 3]))
    return bytes(changed)


def make_calls(draw: random.Random) -> bytes:
    """Return some calls, each with its message, as JSON."""
    names = [draw.choice(_NAMES) for _ in range(draw.randrange(1, 12))]
    if draw.random() < 0.4:
        # In order, but for one that is missing or there twice.
        names = list(_TO_START)
        place = draw.randrange(len(names))
        names[place : place + 1] = draw.choice([[], [names[place]] * 2])
        names.append("Watch")
    calls = [(name, _damaged(draw, _message(name, draw)).hex()) for name in names]
    version = draw.choice(["", "", "", "", "0", "x"])
    return json.dumps({"calls": calls, "version": version}).encode()


@dataclass(frozen=True)
class LiveAgent:
    """An agent in a process of its own, in a network namespace where that is allowed."""

    process: subprocess.Popen[bytes]
    channel: grpc.Channel

    def sent_datagrams(self) -> int:
        """Return how many UDP datagrams were sent in its namespace."""
        lines = Path(f"/proc/{self.process.pid}/net/snmp").read_text().splitlines()
        names, values = (line.split() for line in lines if line.startswith("Udp:"))
        return int(values[names.index("OutDatagrams")])

    def resident_bytes(self) -> int:
        """Return its memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmRSS"))

    def call(self, name: str, message: bytes, version: str = "") -> grpc.StatusCode:
        """Make a call and return how it ended."""
        metadata = ((PROTOCOL_KEY, version),) if version else METADATA
        target = SERVICE + name
        try:
            if name == "Watch":
                answers = self.channel.stream_stream(target, bytes, bytes)(
                    iter([message]), timeout=CALL_S, metadata=metadata
                )
                list(answers)
            elif name == "Collect":
                list(
                    self.channel.unary_stream(target, bytes, bytes)(
                        message, timeout=CALL_S, metadata=metadata
                    )
                )
            else:
                self.channel.unary_unary(target, bytes, bytes)(message, timeout=CALL_S, metadata=metadata)
        except grpc.RpcError as error:
            code: grpc.StatusCode = error.code()
            if code is grpc.StatusCode.UNKNOWN:
                raise AssertionError(f"{name}: {error.details()}") from error
            return code
        return grpc.StatusCode.OK


@cache
def live_agent() -> LiveAgent:
    """Return the agent of this process, started at the first call."""
    folder = Path(tempfile.mkdtemp(prefix="fb-fuzz-"))
    where = f"unix:{folder}/agent.sock"
    command = [sys.executable, "-m", "fabricbench", "agent", "--no-tls", "--listen", where]
    alone = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    enter = (
        alone if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode == 0 else []
    )
    quiet = subprocess.DEVNULL
    process = subprocess.Popen([*enter, *command], stdin=quiet, stdout=quiet, stderr=quiet)
    channel = grpc.insecure_channel(where, OPTIONS)

    def end() -> None:
        channel.close()
        process.terminate()
        try:
            process.wait(END_S)
        finally:
            process.kill()
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    grpc.channel_ready_future(channel).result(UP_S)
    return LiveAgent(process, channel)


def judge_calls(content: bytes) -> str:
    """Make the calls, and return what is wrong with how the agent took them; empty if nothing is."""
    agent, told = live_agent(), json.loads(content)
    before = agent.sent_datagrams()
    codes = [(name, agent.call(name, bytes.fromhex(text), told["version"])) for name, text in told["calls"]]
    strange = [f"{name} ends with {code.name}" for name, code in codes if code not in _ANSWERS]
    if told["version"] and any(code is grpc.StatusCode.OK for _, code in codes):
        strange.append(f"a call of version {told['version']} is answered")
    done = {name for name, code in codes if code is grpc.StatusCode.OK}
    if agent.sent_datagrams() > before and not done >= set(_TO_START):
        strange.append(f"data was sent after {sorted(done)}")
    if agent.resident_bytes() > AGENT_BYTES_MAX:
        strange.append(f"the agent has {agent.resident_bytes()} bytes of memory")
    agent.call("Release", pb.ReleaseRequest(run=RUN).SerializeToString())
    if agent.call("Ping", b"") is not grpc.StatusCode.OK or agent.process.poll() is not None:
        strange.append("the agent answers no more")
    return "; ".join(strange)
