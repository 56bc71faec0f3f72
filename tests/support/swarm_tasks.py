"""What a worker of the swarm may meet: a task that never ends, one that ends its process, and others."""

from __future__ import annotations

import os
import signal
import time

from tools.swarm.scenario import Outcome
from tools.swarm.workers import Task


def carry_out(task: Task) -> Outcome:
    """Do what the plan's name says."""
    if task.plan["name"] == "hang":
        time.sleep(600)
    if task.plan["name"] == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    return Outcome(is_accepted=True, trials=1)
