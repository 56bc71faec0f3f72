"""NCCL's RAS reports."""

from __future__ import annotations

import json

from tests.measured.pasted.forms import HEAD, Pasted, counts, rank, ras

LATE = [rank(number, 3) for number in range(16, 24)]


SPREAD = [rank(3, 1), rank(9, 2), rank(22, 3)]


JSON_RANKS = [
    {
        "rank": number,
        "host": f"10.0.0.{1 + number // 8}",
        "pid": 500 + number,
        "cuda_dev": number % 8,
        "collective_counts": {
            "AllReduce": 4050 + (number == 5),
            "Broadcast": 77 - (number == 5),
            "AllGather": 12,
        },
    }
    for number in range(16)
]


RAS_JSON = json.dumps(
    {"nccl_version": "2.28.3", "communicators": [{"hash": "0x1f", "size": 16, "ranks": JSON_RANKS}]}
)


RAS = {
    "JSON, crossed": Pasted(RAS_JSON, None, None, ["ranks-differ"]),
    "each rank by itself, crossed": Pasted(
        ras(
            *counts("Broadcast", (15, 90)),
            rank(5, 1, 91),
            *counts("AllReduce", (15, 700)),
            rank(5, 1, 698),
        ),
        None,
        None,
        ["ranks-differ"],
    ),
    "late in both": Pasted(
        ras(
            *counts("AllGather", (24, 812), (8, 790)),
            *LATE,
            *counts("AllReduce", (24, 4050), (8, 3990)),
            *LATE,
        ),
        None,
        None,
        ["ranks-behind"],
        (),
        ["ranks-differ", "as-expected"],
    ),
    "one node by one": Pasted(
        ras(*counts("AllReduce", (24, 812), (8, 811)), *LATE),
        None,
        None,
        ["ranks-behind"],
        (),
        ["ranks-differ"],
    ),
    "several nodes by one": Pasted(
        ras(*counts("AllReduce", (29, 812), (3, 811)), *SPREAD), None, None, ["as-expected"], ["ranks-behind"]
    ),
    "several nodes by one, twice the same": Pasted(
        ras(*counts("AllReduce", (29, 812), (3, 811)), *SPREAD) * 2,
        None,
        None,
        ["ranks-behind"],
        (),
        ["as-expected"],
    ),
    "a silent process": Pasted(
        HEAD + "Missing communicator data from 1 job process\n  Process 71 on node 10.0.0.4 managing GPU 2\n",
        None,
        None,
        ["process-lost"],
    ),
}
