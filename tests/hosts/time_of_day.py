"""In a machine of its own: agents and controllers there, while the machine's time of day is set.

    time_of_day.py CASE...         all of it; leaves results and workspaces in /share
    time_of_day.py --lead ...      a controller: see `lead`

`test_time_of_day.py` starts it, and says what is to come of it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from fabricbench.cli import main as fabricbench
from fabricbench.hosts.certificates import AgentFolder, Authority, new_request
from fabricbench.hosts.control.run import HostsRun

SHARE: Final = Path("/share")
HERE: Final = Path("/tmp/clock")
PROGRAM: Final = [sys.executable, "-B", "-m", "fabricbench"]
PORTS: Final = (7470, 7480)
AHEAD_S: Final = {"three days": 3 * 86_400, "ten years ago": -10 * 365 * 86_400}
ROUNDS: Final = 24
SIZE_BYTES: Final = 64 << 10
LIMIT_BPS: Final = 1_000_000
"""Each of two hosts sends 24 times 32 KiB: at least 6.3 s."""
FLOWING_BYTES: Final = 300_000
"""Far more than what calls of the control plane need."""
PATIENCE_S: Final = 300.0


class Day:
    """The time of day of this machine."""

    def __init__(self) -> None:
        # What is set here must not be the time of the machine that runs the tests.
        assert (SHARE / ".init").exists(), "to be run in a virtual machine"
        self.right_s = time.time() - time.monotonic()

    def set(self, name: str) -> dict[str, Any]:
        """Set it as far from the right one as a name says, and return when that was [ns, monotonic]."""
        at_s = self.right_s + time.monotonic() + AHEAD_S.get(name, 0)
        before_ns = time.monotonic_ns()
        time.clock_settime(time.CLOCK_REALTIME, at_s)
        after_ns = time.monotonic_ns()
        assert abs(time.time() - at_s) < PATIENCE_S, (time.time(), at_s)
        return {"name": name, "before_ns": before_ns, "after_ns": after_ns}


def lead(note: str, jump: str, right_s: str, *arguments: str) -> None:
    """Lead a run by `fabricbench ARGUMENTS`, and note when it starts [ns, monotonic].

    Args:
        note: File for that.
        jump: Where the time of day goes once all agents are armed and before they start; empty for nowhere.
        right_s: What the right time of day is ahead of the monotonic clock.
        arguments: Arguments of fabricbench.
    """
    started, day = HostsRun._start, Day()
    day.right_s = float(right_s)

    def start(run: HostsRun, clocks: Any) -> int:
        jumps = [day.set(jump)] if jump else []
        start_ns = started(run, clocks)
        Path(note).write_text(json.dumps({"start_ns": start_ns, "jumps": jumps}))
        return start_ns

    HostsRun._start = start  # type: ignore[assignment,method-assign]
    sys.argv = ["fabricbench", *arguments]
    fabricbench()


def moved_bytes() -> int:
    """Return how many bytes have passed the loopback interface."""
    return int(Path("/sys/class/net/lo/statistics/tx_bytes").read_text())


@contextmanager
def agents() -> Iterator[None]:
    """Two agents, which have joined an authority."""
    authority = Authority(HERE / "authority")
    running = []
    for number, port in enumerate(PORTS):
        folder, (key, request) = HERE / f"h{number}", new_request()
        AgentFolder(folder).save(key, authority.sign_agent(f"h{number}", request), authority.certificate)
        where = ["--listen", f"127.0.0.1:{port}", "--folder", str(folder)]
        running.append(subprocess.Popen([*PROGRAM, "agent", *where]))
    try:
        await_up()
        yield
    finally:
        for agent in running:
            agent.terminate()
        ended = [agent.wait(PATIENCE_S) for agent in running]
    assert ended == [143, 143], ended


def check() -> subprocess.CompletedProcess[str]:
    """Ask both agents what they can do."""
    command = ["hosts", "check", str(hosts_file("roce")), "--authority", str(HERE / "authority")]
    return subprocess.run([*PROGRAM, *command], check=False, capture_output=True, text=True)


def await_up() -> None:
    """Wait until both agents answer in time: the machine is slow, most of all at first."""
    until = time.monotonic() + PATIENCE_S
    while (checked := check()).returncode:
        assert time.monotonic() < until, checked.stdout + checked.stderr


def hosts_file(driver: str) -> Path:
    """Write the file of hosts."""
    settings = "verify: true" + (", timeout_min_ps: 500000000000" if driver == "roce" else "")
    lines = ["version: 1", "defaults:", f"  driver: {driver}", f"  settings: {{{settings}}}"]
    lines += [f"  rate_limit: {LIMIT_BPS}bps", "hosts:"]
    for number, port in enumerate(PORTS):
        lines += [f"  - {{name: h{number}, agent: '127.0.0.1:{port}', address: 127.0.1.{number + 1}}}"]
    path = HERE / f"{driver}.yaml"
    path.write_text("\n".join(lines) + "\n")
    return path


def arguments(name: str, driver: str) -> list[str]:
    """Return how fabricbench is called for a run."""
    size = [f"sweep.data_size=[{SIZE_BYTES}B]", f"jobs.0.repeat={ROUNDS}"]
    plan = [*size, 'jobs.0.ranks="0-1"', "criteria=[]"]
    where = ["--hosts", str(hosts_file(driver)), "--workspace", str(HERE / name)]
    more = ["--backend", "hosts", "--authority", str(HERE / "authority")]
    return ["run", "jct-alltoall", *(word for each in plan for word in ("-s", each)), *more, *where]


class Run:
    """A run, and what the monotonic clock says of it."""

    def __init__(self, day: Day, name: str, driver: str, at_start: str) -> None:
        self.day, self.name = day, name
        self.note = HERE / f"{name}.json"
        own = [str(self.note), at_start, str(day.right_s)]
        me = [sys.executable, "-B", "-m", "tests.hosts.time_of_day", "--lead"]
        self.began_ns = time.monotonic_ns()
        self.process = subprocess.Popen(
            [*me, *own, *arguments(name, driver)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def flow(self) -> int:
        """Wait until much has moved from now on, and return when it had [ns, monotonic]."""
        until, from_bytes = time.monotonic() + PATIENCE_S, moved_bytes()
        while moved_bytes() < from_bytes + FLOWING_BYTES:
            if self.process.poll() is not None or time.monotonic() > until:
                self.process.kill()
                raise AssertionError(f"no data flows: {self.process.communicate()[0]}")
            time.sleep(0.02)
        return time.monotonic_ns()

    def result(self, jumps: Sequence[str]) -> dict[str, Any]:
        """Set the time of day while data flows, and return what is known of the run at its end."""
        flowing_ns = [self.flow()]
        done = []
        for jump in jumps:
            done.append(self.day.set(jump))
            flowing_ns.append(self.flow())
        said, _ = self.process.communicate(timeout=PATIENCE_S)
        ended_ns = time.monotonic_ns()
        if (HERE / self.name).exists():
            shutil.copytree(HERE / self.name, SHARE / self.name)
        noted = json.loads(self.note.read_text())
        return {
            "status": self.process.returncode,
            "said": said,
            "began_ns": self.began_ns,
            "ended_ns": ended_ns,
            "start_ns": noted["start_ns"],
            "at_start": noted["jumps"],
            "flowing_ns": flowing_ns,
            "jumps": done,
        }


def refused(day: Day, jump: str) -> dict[str, Any]:
    """Return what is said where the time of day is wrong before a run."""
    day.set(jump)
    command = [*PROGRAM, *arguments("refused", "roce")]
    run = subprocess.run(command, check=False, capture_output=True, text=True)
    done = {"run": run, "check": check()}
    day.set("")
    return {name: {"status": of.returncode, "said": of.stdout + of.stderr} for name, of in done.items()}


def main(cases: Sequence[dict[str, Any]]) -> None:
    """Carry out all cases: each has a name, a driver, and where the time of day goes when."""
    HERE.mkdir()
    day, results = Day(), {}
    with agents():
        for case in cases:
            run = Run(day, case["name"], case["driver"], case.get("at_start", ""))
            results[case["name"]] = run.result(case["jumps"])
            day.set("")
            sys.stdout.write(f"{case['name']}: {results[case['name']]}\n")
            sys.stdout.flush()
        results["refused"] = refused(day, "ten years ago")
    (SHARE / "results.json").write_text(json.dumps(results))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--lead"]:
        lead(*sys.argv[2:])
    else:
        main([json.loads(each) for each in sys.argv[1:]])
