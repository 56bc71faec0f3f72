"""Generates a random small plan from an integer; together the plans cover all fields of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tools.swarm.closed_forms import PATTERNS, fitting_ranks, is_shared
from tools.swarm.fabrics import RATES, Drawn, Fields, fabric
from tools.swarm.random_draws import Draw
from tools.swarm.servers import gpus_of, nccl_job

PACKETS_MAX = 3_000
"""Approximate largest number of data packets of a job, so that a scenario takes milliseconds."""


def plan_of(seed: int) -> dict[str, Any]:
    """Return the plan of a seed, as the fields of its YAML."""
    draw = Draw(seed)
    transport = _transport(draw)
    drawn = fabric(draw)
    _reconcile(draw, transport, drawn)
    jobs = _jobs(draw, drawn, transport)
    plan: Fields = {
        "fabricbench": 1,
        "name": f"swarm-{seed}",
        "seed": draw.seed(),
        "fabric": drawn.fields,
        "transport": transport,
        "jobs": jobs,
    }
    if drawn.kind == "ethernet" and draw.chance(0.13):
        plan["tcp"] = [_tcp(draw, drawn, jobs, transport)]
        _mark_tcp(draw, plan)
    _add_variation(draw, plan)
    if drawn.gpus is not None:
        plan["observe"]["chunks"] = "all"  # otherwise those of NCCL are a sample, on which laws cannot rely
    if drawn.kind != "infiniband":
        _address(draw, plan)
    if transport.get("connection") == "uc":
        _reconcile_unreliable(plan)
    return plan


def _reconcile_unreliable(plan: Fields) -> None:
    """Remove the fields that unreliable connections have no use for.

    Traffic without an end takes reliable ones instead: without a short timeout it would continue for 100 ms
    after the last loss.
    """
    is_endless = any(job.get("repeat") == "until-others-end" for job in plan["jobs"])
    if is_endless or any("duration" not in tcp for tcp in plan.get("tcp", ())):
        del plan["transport"]["connection"]
        return
    for name in ("ack_every", "window", "recovery", "ooo_window", "timeout", "retry_count"):
        plan["transport"].pop(name, None)
    for variant in plan.get("variants", ()):
        variant.get("set", {}).pop("transport.ack_every", None)


def _address(draw: Draw, plan: Fields) -> None:
    """Draw addresses, a VLAN and code points, and sometimes set the MTU by that of the ports."""
    if draw.chance(0.2):
        subnet_per = draw.pick(("port", "switch", "link"))
        subnet = "172.20.0.0/31" if subnet_per == "link" else draw.pick(("172.20.0.0/22", "192.168.0.0/20"))
        addresses: Fields = {"subnet": subnet, "subnet_per": subnet_per}
        if subnet_per == "port" and draw.chance(0.5):
            addresses["gateway"] = "last"
        if draw.chance(0.5):
            addresses["vlan"] = draw.whole(1, 4094)
        plan["fabric"]["addresses"] = addresses
    transport = plan["transport"]
    if draw.chance(0.1):
        transport["dscp"] = {"data": draw.whole(0, 63), "ack": draw.whole(0, 63)}
    if draw.chance(0.1) and "tcp" not in plan:
        transport["port_mtu"] = transport["mtu"] + draw.whole(64, 100)
        if draw.chance(0.5) and not plan.get("variants") and not plan.get("sweep"):
            del transport["mtu"]


def _transport(draw: Draw) -> Fields:
    mtu = draw.pick((256, 512, 1024, 2048, 4096, 4096))
    fields: Fields = {"mtu": mtu, "recovery": draw.pick(("go_back_n", "go_back_n", "selective", "none"))}
    fields["message_size"] = draw.pick(
        (mtu - 1, mtu, mtu + 1, 3 * mtu, "16KB", "64KB", "128KB", "128KB", "1MB")
    )
    if draw.chance(0.05):
        fields["message_size"] = draw.whole(1, 300)
    fields["qp_mode"] = draw.pick(("per_chunk", "per_pair"))
    if draw.chance(0.3):
        fields["qps_per_rank_pair"] = draw.whole(1, 4)
    fields["window"] = draw.pick((1, 3, 16, 64, 333, 8388608, 8388608))
    fields["ack_every"] = min(draw.pick((1, 2, 2, 3, 4, 7, 32)), fields["window"])
    if draw.chance(0.5):
        fields["ooo_window"] = draw.pick((1, 16, 128, 512))
    fields["timeout"] = draw.pick(("16us", "100us", "300us", "1ms", "67.108864ms"))
    if draw.chance(0.3):
        fields["retry_count"] = draw.whole(0, 7)
    if draw.chance(0.25):
        data, ack = draw.some(range(8), 2)
        fields["priorities"] = {"data": data, "ack": ack, "cnp": draw.pick((ack, 7))}
    return fields


def _reconcile(draw: Draw, transport: Fields, drawn: Drawn) -> None:
    """Add settings that depend on the fabric: rate control, DCQCN if data are marked, and priorities."""
    ecn = drawn.fields["switch"].get("ecn")
    if draw.chance(0.1):
        transport["rate_control"] = draw.pick(
            (
                *("swift", "timely", {"swift": {"window_max": draw.pick((1, 4))}}),
                {"fixed": {"rate": draw.pick(("1Gbps", "3Gbps"))}},
                {"timely": {"segment": "4KB", "decrease_max": draw.pick((0.25, 0.5, 1))}},
            )
        )
    elif ecn and draw.chance(0.5):
        fields: Fields = {"preset": draw.pick(("nvidia", "paper", "hpcc"))}
        if draw.chance(0.2):
            fields |= {"reaction": "off", "cnp_interval": draw.pick(("1us", "4us", "50us"))}
        else:
            if draw.chance(0.2):
                fields["fast_recovery_rounds"] = 0
            fields |= {"rate_min": "100Mbps", "initial_alpha": draw.pick((1, 1, 0, "1/2", 0.01))}
        transport["rate_control"] = {"dcqcn": fields} if draw.chance(0.7) else "dcqcn"
    if drawn.kind != "infiniband" and draw.chance(0.1):
        transport |= {"connection": "uc", "recovery": "none"}
        if "fixed" not in transport.get("rate_control", ()):
            transport.pop("rate_control", None)
    if "rate_control" in transport and not _is_without_reaction(transport["rate_control"]):
        drawn.fields.get("nic", {}).pop("packets_per_turn", None)
    if drawn.kind == "infiniband" and draw.chance(0.5):
        transport["priorities"] = {"data": 0, "ack": 0}


def _is_without_reaction(control: Any) -> bool:
    return isinstance(control, dict) and control.get("dcqcn", {}).get("reaction") == "off"


def _jobs(draw: Draw, drawn: Drawn, transport: Fields) -> list[Fields]:
    """Return one to three jobs on different hosts, or up to eight on the same; one or more end alone."""
    if drawn.gpus is not None:
        return _jobs_on_servers(draw, drawn, transport, drawn.gpus)
    if draw.chance(0.15):
        return _communicators(draw, drawn, transport)
    count = draw.pick((1, 1, 1, 2, 2, 3)) if drawn.hosts >= 6 else 1
    hosts = draw.some(range(drawn.hosts), drawn.hosts)
    edges = [round(index * len(hosts) / count) for index in range(count + 1)]
    jobs = [
        _job(draw, f"j{index}", hosts[edges[index] : edges[index + 1]], drawn, transport)
        for index in range(count)
    ]
    if count > 1:
        _let_go_on(draw, jobs[-1], transport)
        _add_priorities(draw, jobs, drawn, transport)
    return jobs


def _jobs_on_servers(draw: Draw, drawn: Drawn, transport: Fields, gpus: int) -> list[Fields]:
    """Return jobs on servers: one to three that NCCL runs, on whole servers, and others on any GPUs."""
    transport["qp_mode"] = "per_pair"
    servers = draw.some(range(drawn.hosts), drawn.hosts)
    jobs: list[Fields] = []
    of_nccl = draw.pick((0, 1, 1, 1, 1, 2, 3)) if gpus > 1 else 0
    for index in range(of_nccl):
        own = servers if draw.chance(0.7) else servers[: draw.whole(1, len(servers))]
        job = nccl_job(draw, f"j{index}", own, gpus, PACKETS_MAX // of_nccl, _unit(transport))
        jobs.append(job | _times(draw) | _rounds(draw, is_rooted=False))
    for index in range(of_nccl, of_nccl + draw.pick((0, 0, 0, 1) if of_nccl else (1, 1, 2))):
        form = draw.whole(0, 2)
        if form == 0 and drawn.hosts > 1:
            members = [server * gpus + draw.whole(0, gpus - 1) for server in servers]
        elif form == 1:
            members = gpus_of(servers, gpus)
        else:
            members = draw.some(range(drawn.ranks), draw.whole(2, drawn.ranks))
        may_store = not any("storage" in job for job in jobs)
        job = _job(draw, f"j{index}", members, drawn, transport, may_store=may_store)
        if "storage" not in job and draw.chance(0.6):
            job["library"] = "none"
        jobs.append(job)
    if len(jobs) > 1:
        _let_go_on(draw, jobs[-1], transport)
        _add_priorities(draw, jobs, drawn, transport)
    if of_nccl and draw.chance(0.5) and not any("rendezvous" in job for job in jobs):
        del transport["qp_mode"]
    return jobs


def _communicators(draw: Draw, drawn: Drawn, transport: Fields) -> list[Fields]:
    """Return two to eight jobs on the same hosts, or most of them; only one of them is a storage job."""
    hosts = draw.some(range(drawn.hosts), drawn.hosts)
    jobs: list[Fields] = []
    for index in range(draw.pick((2, 2, 3, 4, 8))):
        own = hosts if draw.chance(0.6) else draw.some(hosts, draw.whole(2, len(hosts)))
        may_store = not any("storage" in job for job in jobs)
        jobs.append(_job(draw, f"j{index}", own, drawn, transport, may_store=may_store))
    _let_go_on(draw, jobs[-1], transport)
    _add_priorities(draw, jobs, drawn, transport)
    return jobs


def _add_priorities(draw: Draw, jobs: list[Fields], drawn: Drawn, transport: Fields) -> None:
    """Sometimes give jobs after the first priorities of their own, some of them lossless."""
    nic = drawn.fields.get("nic", {})
    if drawn.kind != "ethernet" or "packets_per_turn" in nic or not draw.chance(0.4):
        return
    common = transport.get("priorities", {}).get("data", 3)
    for job in jobs[1:]:
        if draw.chance(0.8):
            job["priority"] = draw.whole(0, 7)
    used = sorted({job.get("priority", common) for job in jobs})
    pfc = drawn.fields["switch"].get("pfc")
    if isinstance(pfc, dict) and draw.chance(0.7):
        pfc["priorities"] = draw.some(used, draw.whole(1, len(used)))


def _let_go_on(draw: Draw, job: Fields, transport: Fields) -> None:
    """Sometimes let a job run until the others end."""
    if draw.chance(0.3) and _may_go_on(job):
        job |= {"repeat": "until-others-end", "warm_up_rounds": 0}
        # Next to a job that waits for timeouts it would send during all that time.
        transport["timeout"] = draw.pick(("16us", "100us"))


def _may_go_on(job: Fields) -> bool:
    return "arrivals" not in job


def _job(
    draw: Draw, name: str, hosts: Sequence[int], drawn: Drawn, transport: Fields, *, may_store: bool = True
) -> Fields:
    is_ethernet = drawn.kind != "infiniband"
    if may_store and is_ethernet and transport["recovery"] == "go_back_n" and draw.chance(0.12):
        ends = {host // (drawn.gpus or 1): host for host in hosts}  # one of each server
        if len(ends) > 1:
            return _storage(draw, name, list(ends.values()))
    if draw.chance(0.1):
        return _open_loop(draw, name, hosts, transport)
    return _collective(draw, name, hosts, drawn, transport)


def _collective(draw: Draw, name: str, hosts: Sequence[int], drawn: Drawn, transport: Fields) -> Fields:
    collective, algorithm = draw.pick(PATTERNS)
    per_host = draw.whole(2, 3) if drawn.gpus is None and draw.chance(0.1) else 1
    used = fitting_ranks(algorithm, draw.whole(2, len(hosts)) if draw.chance(0.4) else len(hosts), per_host)
    ranks = used * per_host
    job: Fields = {
        "name": name,
        "ranks": _ranks(hosts[:used]),
        "collective": collective,
        "algorithm": algorithm,
    }
    if per_host > 1:
        job |= {"processes_per_host": per_host, "mapping": draw.pick(("by-host", "round-robin"))}
    job |= _size(draw, collective, ranks, transport)
    job |= _times(draw)
    is_rooted = collective in ("gather", "scatter", "broadcast", "reduce", "incast")
    if is_rooted and draw.chance(0.4):
        job["root"] = draw.whole(0, ranks - 1)
    job |= _rounds(draw, is_rooted=is_rooted)
    if algorithm not in _CUT_BY_SIZE and draw.chance(0.12):
        job |= _sizes(draw, job)
    elif collective in ("all-gather", "all-to-all") and draw.chance(0.1):
        job["copies_own_block"] = True
    # With several sizes, only some may have a handshake, so that the number of chunks would vary.
    if transport["qp_mode"] == "per_pair" and "size_order" not in job and draw.chance(0.2):
        job["rendezvous"] = draw.pick(("on", {"threshold": draw.spread(1, 100_000), "control_size": 64}))
    return job


def _ranks(hosts: Sequence[int]) -> str:
    return ",".join(str(host) for host in hosts)


def _unit(transport: Fields) -> int:
    """Return the payload of a packet in the middle of a message, or of the whole message if that is less."""
    size = transport["message_size"]
    return min(int(transport["mtu"]), size if isinstance(size, int) else 16_384)


def _size(draw: Draw, collective: str, ranks: int, transport: Fields) -> Fields:
    """Return a size of a few bytes or of up to `PACKETS_MAX` packets of all ranks, odd or round."""
    packets = draw.spread(1, PACKETS_MAX // ranks)
    size = max(1, packets * _unit(transport) + draw.pick((-1, 0, 0, 1)))
    if draw.chance(0.15):
        size = draw.whole(1, 300)
    if is_shared(collective):
        size = -(-size // ranks) * ranks
        if draw.chance(0.2):
            return {"message_size": size // ranks}
    return {"data_size": size}


def _times(draw: Draw) -> Fields:
    fields: Fields = {}
    for name, share in (
        ("start", 0.2),
        ("step_overhead", 0.25),
        ("send_overhead", 0.1),
        ("receive_overhead", 0.1),
    ):
        if draw.chance(share):
            fields[name] = draw.pick(("137ns", "300ns", "1us", "10us"))
    return fields


def _rounds(draw: Draw, *, is_rooted: bool) -> Fields:
    fields: Fields = {}
    if draw.chance(0.25):
        fields["repeat"] = draw.whole(2, 5)
    if draw.chance(0.15):
        fields["warm_up_rounds"] = draw.whole(1, 2)
    if is_rooted and draw.chance(0.25):
        fields["root_shift"] = True
    if draw.chance(0.12):
        fields["barrier"] = True
    return fields


_CUT_BY_SIZE = ("double-binary-tree",)
"""Algorithms whose number of chunks depends on the size."""


def _sizes(draw: Draw, job: Fields) -> Fields:
    """Return several sizes instead of one, in order or random, for a job whose rounds are otherwise equal."""
    name = "data_size" if "data_size" in job else "message_size"
    job.pop("warm_up_rounds", None)
    job.pop("root_shift", None)
    sizes = [job[name] * factor for factor in draw.some((1, 2, 3, 4), draw.whole(2, 3))]
    return {name: sizes, "size_order": draw.pick(("in-order", "random"))}


def _open_loop(draw: Draw, name: str, hosts: Sequence[int], transport: Fields) -> Fields:
    collective = draw.pick(("permutation", "incast", "uniform-random"))
    size = draw.spread(1, 30 * _unit(transport))
    job: Fields = {"name": name, "ranks": _ranks(hosts), "collective": collective, "data_size": size}
    # About 30 messages of each rank, for any size.
    rate_gbps = draw.pick((1, 3, 10, 20))
    duration_ps = min(30 * size * 8_000 // rate_gbps + 1_000, 2_000_000_000)
    arrivals: Fields = {"rate": f"{rate_gbps}Gbps", "duration": f"{duration_ps}ps"}
    arrivals["process"] = draw.pick(("poisson", "constant"))
    return job | {"arrivals": arrivals}


def _storage(draw: Draw, name: str, hosts: Sequence[int]) -> Fields:
    split = draw.whole(1, len(hosts) - 1)
    storage: Fields = {
        "clients": list(hosts[:split]),
        "targets": list(hosts[split:]),
        "operation": draw.pick(("write", "read", "mixed")),
        "block_size": 512 * draw.spread(1, 200),
        "depth": draw.spread(1, 32),
    }
    if draw.chance(0.5):
        storage["operations"] = draw.spread(1, 100)
    else:
        storage["duration"] = draw.time(20_000_000, 200_000_000)
        if draw.chance(0.4):
            storage["warm_up"] = "2us"
    if draw.chance(0.3):
        storage["in_capsule"] = draw.pick((0, "4KB", "64KB"))
    if draw.chance(0.3):
        storage["outstanding_reads"] = draw.whole(1, 16)
    if draw.chance(0.3):
        storage["service_rate"] = draw.pick(RATES[2:])
    if draw.chance(0.3):
        storage["service_time"] = draw.time(100_000, 10_000_000)
    return {"name": name, "collective": "storage", "storage": storage}


def _tcp(draw: Draw, drawn: Drawn, jobs: Sequence[Fields], transport: Fields) -> Fields:
    """Return TCP traffic; its priority is rarely that of data, so PFC rarely pauses it."""
    hosts = draw.some(range(drawn.hosts), draw.whole(2, drawn.hosts))
    fields: Fields = {
        "name": "background",
        "ranks": _ranks(hosts),
        "collective": draw.pick(("permutation", "incast", "all-to-all")),
        "rate": draw.pick(("unlimited", "1Gbps", "3Gbps")),
        "congestion": draw.pick(("cubic", "newreno")),
        "start_spread": draw.pick(("1us", "5us", "100us")),
        "rto_initial": "1ms",
        "rto_min": draw.pick(("200us", "1ms")),
        "window": draw.pick(("64KB", "256KB", "2MB")),
        "write_size": draw.pick((1, "4KB", "128KB")),
    }
    is_open_ended = any(job.get("repeat") == "until-others-end" for job in jobs)
    is_unrecovered = transport["recovery"] == "none"
    if is_open_ended or draw.chance(0.3 if is_unrecovered else 0.7):
        fields["duration"] = draw.time(10_000_000, 300_000_000)
    elif is_unrecovered and draw.chance(0.7):
        # Losses are not waited for, whatever the timeout; at this rate it sends little in that time.
        fields["rate"] = "1Gbps"
        transport["timeout"] = "67.108864ms"
    else:
        # It sends for as long as the jobs take, timeouts included.
        transport["timeout"] = draw.pick(("16us", "100us"))
    if fields["rate"] == "unlimited" and draw.chance(0.5):
        fields |= {"outstanding_writes": draw.whole(1, 8), "ack_every": draw.pick((1, 2))}
    if draw.chance(0.3):
        fields |= {"mtu": draw.pick((1500, 9000)), "connections": draw.whole(1, 3)}
    if draw.chance(0.2):
        fields |= {"mtu": 576, "window": "64KB"}
    return fields


def _mark_tcp(draw: Draw, plan: Fields) -> None:
    """Sometimes mark the priority of TCP as well, for DCTCP."""
    ecn = plan["fabric"]["switch"].get("ecn")
    data = plan["transport"].get("priorities", {}).get("data", 3)
    if isinstance(ecn, dict) and data != 0 and draw.chance(0.5):
        ecn["priorities"] = [data, 0]
        plan["tcp"][0]["congestion"] = "dctcp"


def _add_variation(draw: Draw, plan: Fields) -> None:
    """Add iterations, sweeps and variants, which give several trials, and settings of sampling."""
    observe: Fields = {"series_points": draw.pick((0, 2, 16, 1000))}
    if draw.chance(0.5):
        observe["series_interval"] = draw.pick(("100ns", "1us", "7us"))
    if draw.chance(0.1):
        observe |= {"path_rows": draw.pick((0, 7)), "series_ports": draw.pick((0, 3))}
    plan["observe"] = observe
    if draw.chance(0.06):
        plan["iterations"] = 2
    if len(plan["jobs"]) > 1 and draw.chance(0.06):
        plan["solo"] = True
    if "data_size" in plan["jobs"][0] and draw.chance(0.06):
        size = plan["jobs"][0].pop("data_size")
        plan["sweep"] = {"data_size": [size, 2 * size]}
    if draw.chance(0.06):
        changes = {"transport.ack_every": 1, "observe.series_points": 5}
        plan["variants"] = [{"name": "v0"}, {"name": "v1", "set": changes}]
    _pin(draw, plan)


def _pin(draw: Draw, plan: Fields) -> None:
    """Sometimes pin a queue pair of an all-to-all between leaves to an uplink."""
    topology, job = plan["fabric"]["topology"], plan["jobs"][0]
    if plan["fabric"].get("server") != "none":
        return
    is_everyone = job["collective"] == "all-to-all" and job.get("algorithm") in ("parallel", "pairwise")
    if topology["kind"] != "leaf-spine" or not is_everyone or "processes_per_host" in job:
        return
    if "scheduled" in plan["fabric"]["switch"] or not draw.chance(0.5):
        return
    leaves = [int(host) // topology["hosts_per_leaf"] for host in job["ranks"].split(",")]
    rank_pairs = [
        (sender, receiver)
        for sender in range(len(leaves))
        for receiver in range(len(leaves))
        if leaves[sender] != leaves[receiver]
    ]
    if rank_pairs:
        sender, receiver = draw.pick(rank_pairs)
        pin = {
            "switch": f"leaf{leaves[sender]}",
            "uplink": draw.whole(0, topology["spines"] - 1),
            "flows": [f"{sender}>{receiver}"],
        }
        plan["fabric"]["load_balancing"] = {"kind": "pinned", "pins": [pin]}
