"""In processes whose libibverbs is that of `adapter.c`: runs of two agents, and what becomes of failures."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from tests.endpoint.test_host_run import JOB, halves, planned, spec_of_jobs
from tests.endpoint.test_unreliable import messages
from tests.support.hosts import Agents, simulated

from fabricbench import _core


def agents(job: dict[str, Any], transport: dict[str, Any], settings: dict[str, Any]) -> Agents:
    spec_json = spec_of_jobs(JOB | job, hosts=4, **transport)
    return Agents(spec_json, halves(4), "verbs", settings={"address": "127.0.0.1"} | settings)


def carry_out(job: dict[str, Any], transport: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Run a job, and return its counters; its rows are to be those of the simulator."""
    made = agents(job, transport, settings)
    made.prepare()
    counters = made.drain()
    assert planned(made.rows(), "verbs") == planned(simulated(made.spec_json), "verbs")
    return {"counters": counters}


def stamp(second_starts: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Run two jobs one after the other, and return counters and times on the monotonic clock [ns]."""
    jobs = [JOB, JOB | {"ranks": "4-7", "start": second_starts}]
    settings = {"address": "127.0.0.1", "verify": False} | settings
    made = Agents(spec_of_jobs(*jobs, hosts=8), [[0, 1, 4, 5], [2, 3, 6, 7]], "verbs", settings=settings)
    made.prepare()
    counters = made.drain()
    rows = made.rows()
    times = {
        name: sorted(made.start_ns + at / 1_000 for at in rows[f"{name}_ps"].to_pylist())
        for name in ("delivered", "completed")
    }
    return {"counters": counters, "times": times}


def fail(job: dict[str, Any], transport: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Run a job that cannot end, and return what its agents say."""
    made = agents(job, transport, settings)
    made.prepare()
    made.start()
    made.keep_alive_until(lambda: all(run.progress()["state"] != "running" for run in made.runs))
    return {
        "progress": [run.progress() for run in made.runs],
        "counters": [run.counters() for run in made.runs],
    }


def lose(job: dict[str, Any], transport: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Run a job that loses messages until all agents wait; return its rows, counters and messages."""
    made = agents(job, transport, settings)
    made.prepare()
    made.start()
    made.keep_alive_until(lambda: all(run.progress()["is_idle"] for run in made.runs))
    for run in made.runs:
        run.stop("messages are missing")
        run.wait(10)
    rows = made.rows().select(["qp", "round", "status", "delivered_ps", "completed_ps", "payload_bytes"])
    return {
        "rows": rows.to_pylist(),
        "counters": [run.counters() for run in made.runs],
        "messages": messages(made),
    }


def refuse(job: dict[str, Any], transport: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Prepare a job, and return why that is refused."""
    try:
        agents(job, transport, settings).prepare()
    except _core.SpecError as error:
        return {"refused": f"{error.field}: {error.found}; {error.allowed}"}
    except (ValueError, OSError) as error:
        return {"refused": str(error)}
    return {"refused": None}


def check(address: str) -> dict[str, Any]:
    """Return why the driver cannot be used, with and without an address."""
    return {"drivers": [_core.drivers()["verbs"], _core.drivers(address)["verbs"]]}


FUNCTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    "carry_out": carry_out,
    "stamp": stamp,
    "fail": fail,
    "lose": lose,
    "refuse": refuse,
    "check": check,
}


def answer(line: str) -> None:
    """Run a function in a child process with more environment variables, and write its result as a line.

    The line is empty if the function fails.
    """
    environment, name, *arguments = json.loads(line)
    child = os.fork()
    if child == 0:
        os.environ.update(environment)
        sys.stdout.write(json.dumps(FUNCTIONS[name](*arguments)))
        sys.exit()
    os.waitpid(child, 0)
    sys.stdout.write("\n")
    sys.stdout.flush()


if __name__ == "__main__":
    for each in sys.stdin:
        answer(each)
