"""Texts of plans to start from: a copy of a shipped plan, or a collective on a cluster of GPU servers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from fabricbench.plan.cluster import COLLECTIVES, Cluster, option_problem
from fabricbench.plan.document.shipped import find_plan
from fabricbench.plan.document.yaml_text import yaml_text
from fabricbench.words import close_match_hint, same_name

_SIZES: Final = ("1MB", "16MB", "256MB", "1GB", "4GB")
"""Data sizes of a plan of a cluster."""


def copy_text(template: str, name: str) -> str:
    """Return the text of a shipped plan, or of a file of one, with another name.

    Raises:
        PlanError: There is no such plan.
    """
    text = find_plan(template)[0].read_text(encoding="utf-8")
    return re.sub(r"^name: .*$", f"name: {name}", text, count=1, flags=re.MULTILINE)


def cluster_text(cluster: Cluster, collective: str, name: str) -> str:
    """Return the text of the plan of a collective on a cluster.

    Raises:
        PlanError: The cluster or the collective is not allowed.
    """
    same = same_name(collective, COLLECTIVES)
    if same is None:
        hint = close_match_hint(collective, COLLECTIVES)
        raise option_problem("--collective", f'"{collective}"', ", ".join(COLLECTIVES), hint)
    cluster.check()
    title = f"{same} on {cluster.servers} x {Path(cluster.server).stem}"
    cluster_fields = cluster.fields(same, [])
    parts = {key: cluster_fields[key] for key in ("backend", "fabric", "transport")}
    jobs = [{key: value for key, value in job.items() if key != "library"} for job in cluster_fields["jobs"]]
    sweep = {"data_size": list(_SIZES)}
    fields = {"fabricbench": 1, "name": name, "title": title, **parts, "jobs": jobs, "sweep": sweep}
    is_usual = cluster_fields == Cluster(cluster.server, cluster.servers).fields(same, [])
    expected = f"--cluster {cluster.server} --servers {cluster.servers}" if is_usual else f"{name}.yaml"
    return (
        f"# {title}, as NCCL {cluster.version} runs it; `backend: sim` simulates packets.\n"
        f"# What it should give: fabricbench expect {expected}\n"
        f"{yaml_text(fields, flow_style=None)}"
    )
