"""Every mistake a user can make in a plan gets one clear message with its line."""

from pathlib import Path

import pytest

from fabricbench.plan.errors import PlanError
from fabricbench.plan.load import load_plan, plan_path
from tests.plan.examples import SMALL, errors_of, plan_of, with_line, write_plan

SIZES = 'a whole number of bytes, or a size such as "16MB", in B, KB, MB, GB, TB'
RATES = 'a rate such as "400Gbps", in bps, kbps, Mbps, Gbps, Tbps'


def test_the_small_plan_is_one() -> None:
    assert plan_of(SMALL).name == "small"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # Keys
        (
            "ack_every: 2",
            "ack_evry: 2",
            "error: plan.yaml:10: transport.ack_evry: found an unknown key; allowed: mtu, message_size, qp_mode, "
            "qps_per_rank_pair, ack_every, window, recovery, timeout, retry_count, rate_control\n"
            "hint: did you mean `ack_every`?",
        ),
        (
            "name: small\n",
            "name: small\nmtu: 4096\n",
            "error: plan.yaml:3: mtu: found an unknown key; allowed: fabricbench, name, title, description, seed, fabric, "
            "transport, jobs, sweep, iterations, tag, published, observe\nhint: `mtu` belongs to transport",
        ),
        (
            "    leaves: 2\n",
            "    pods: 2\n",
            "error: plan.yaml:4: fabric.topology.leaves: found nothing; allowed: a value: it has no default\n"
            "hint: `leaves`: Number of leaf switches.\n"
            "error: plan.yaml:6: fabric.topology.pods: found an unknown key; allowed: kind, leaves, hosts_per_leaf, "
            "spines, links_per_spine, host_link, fabric_link\nhint: `pods` belongs to fabric.topology",
        ),
        (
            "    collective: all-to-all\n",
            "",
            "error: plan.yaml:12: jobs.0.collective: found nothing; allowed: a value: it has no default\n"
            "hint: `collective`: What the ranks do together, such as `all-reduce`.",
        ),
        # Versions
        (
            "fabricbench: 1\n",
            "",
            "error: plan.yaml:1: fabricbench: found nothing; allowed: 1\nhint: begin the file with `fabricbench: 1`",
        ),
        (
            "fabricbench: 1",
            "fabricbench: 2\nx: 3",
            "error: plan.yaml:1: fabricbench: found version 2; allowed: 1\nhint: a newer fabricbench may know it",
        ),
        ("fabricbench: 1", "fabricbench: true", "error: plan.yaml:1: fabricbench: found version True; allowed: 1"),
        ("fabricbench: 1", "fabricbench: []", "error: plan.yaml:1: fabricbench: found version a list; allowed: 1"),
        # Units
        (
            "host_link: 400Gbps",
            "host_link: 400GB",
            f'error: plan.yaml:9: fabric.topology.host_link.rate: found "400GB", which is a size; allowed: {RATES}',
        ),
        (
            "host_link: 400Gbps",
            "host_link: {rate: 0bps, length: 3}",
            f"error: plan.yaml:9: fabric.topology.host_link.rate: found 0; allowed: more than 0: {RATES}\n"
            "error: plan.yaml:9: fabric.topology.host_link.length: found 3, which has no unit; allowed: a length such as "
            '"30m", in mm, cm, m, km\nhint: write the unit, such as "3m"',
        ),
        (
            "host_link: 400Gbps",
            "host_link:",
            f"error: plan.yaml:9: fabric.topology.host_link.rate: found nothing; allowed: {RATES}",
        ),
        # Kinds of values
        (
            "mtu: 4096",
            "mtu: 4000",
            "error: plan.yaml:10: transport.mtu: found 4000; allowed: 256, 512, 1024, 2048 or 4096",
        ),
        ("mtu: 4096", "mtu: yes", 'error: plan.yaml:10: transport.mtu: found "yes"; allowed: 256, 512, 1024, 2048 or 4096'),
        (
            "ack_every: 2",
            "ack_every: 2.5",
            "error: plan.yaml:10: transport.ack_every: found 2.5; allowed: a whole number",
        ),
        (
            "ack_every: 2",
            "ack_every: true",
            "error: plan.yaml:10: transport.ack_every: found true; allowed: a whole number",
        ),
        ("ack_every: 2", "ack_every: 0", "error: plan.yaml:10: transport.ack_every: found 0; allowed: 1 or more"),
        ("ack_every: 2", "retry_count: 8", "error: plan.yaml:10: transport.retry_count: found 8; allowed: 7 or less"),
        (
            "ack_every: 2",
            "qp_mode: per-chunk",
            "error: plan.yaml:10: transport.qp_mode: found \"per-chunk\"; allowed: 'per_chunk' or 'per_pair'\n"
            "hint: did you mean `per_chunk`?",
        ),
        (
            "ack_every: 2",
            "message_size: 4GB",
            'error: plan.yaml:10: transport.message_size: found "4GB"; allowed: at most 2GB',
        ),
        (
            "name: small",
            "name: 2024",
            'error: plan.yaml:2: name: found 2024; allowed: text\nhint: put it in quotes: "2024"',
        ),
        (
            "name: small",
            "name: a/b",
            'error: plan.yaml:2: name: found "a/b"; allowed: letters, digits, ".", "_" and "-", a letter or digit first',
        ),
        (
            "transport: {mtu: 4096, ack_every: 2}",
            "transport:",
            "error: plan.yaml:10: transport: found nothing; allowed: a mapping of fields",
        ),
        (
            "transport: {mtu: 4096, ack_every: 2}",
            "transport: fast",
            'error: plan.yaml:10: transport: found "fast"; allowed: a mapping of fields',
        ),
        # Topologies
        (
            "kind: leaf-spine",
            "kind: leafspine",
            'error: plan.yaml:5: fabric.topology.kind: found "leafspine"; allowed: single-switch, leaf-spine, fat-tree, '
            "rail-optimised, full-mesh\nhint: did you mean `leaf-spine`?",
        ),
        (
            "    kind: leaf-spine\n",
            "",
            "error: plan.yaml:4: fabric.topology.kind: found nothing; allowed: single-switch, leaf-spine, fat-tree, "
            "rail-optimised, full-mesh",
        ),
        (
            "    spines: 4\n",
            "    spines: 0\n",
            "error: plan.yaml:8: fabric.topology.spines: found 0; allowed: 1 or more",
        ),
        (
            "    leaves: 2\n    hosts_per_leaf: 4\n",
            "    leaves: 100000\n    hosts_per_leaf: 100000\n",
            "error: plan.yaml:4: fabric.topology: found 10000000000 hosts; allowed: at most 1048576",
        ),
        (
            "    leaves: 2\n    hosts_per_leaf: 4\n    spines: 4\n",
            "    leaves: 10000\n    hosts_per_leaf: 4\n    spines: 10000\n",
            "error: plan.yaml:4: fabric.topology: found 100040000 cables; allowed: at most 16777216",
        ),
        # Ranks
        (
            'ranks: "0-7"',
            'ranks: "0-8"',
            "error: plan.yaml:13: jobs.0.ranks: found 9 ranks on 8 hosts; allowed: at most 8",
        ),
        (
            'ranks: "0-7"',
            'ranks: "0,8"',
            "error: plan.yaml:13: jobs.0.ranks: found host 8; allowed: hosts 0 to 7 of this topology",
        ),
        (
            'ranks: "0-7"',
            "ranks:\n    - 0\n    - 8",
            "error: plan.yaml:15: jobs.0.ranks.1: found host 8; allowed: hosts 0 to 7 of this topology",
        ),
        (
            'ranks: "0-7"',
            "ranks: [0, 1, 0]",
            "error: plan.yaml:13: jobs.0.ranks.2: found host 0 twice; allowed: each host once",
        ),
        ('ranks: "0-7"', "ranks: [3]", "error: plan.yaml:13: jobs.0.ranks: found 1 rank; allowed: 2 ranks or more"),
        ('ranks: "0-7"', "ranks: []", "error: plan.yaml:13: jobs.0.ranks: found no rank; allowed: 2 ranks or more"),
        (
            'ranks: "0-7"',
            "ranks: 8",
            'error: plan.yaml:13: jobs.0.ranks: found 8; allowed: all, hosts such as "0-7" or "0,1,6,7", or a list of '
            'host numbers\nhint: one host is not a job; write "0-8" or a list',
        ),
        (
            'ranks: "0-7"',
            "ranks: [0, -1]",
            "error: plan.yaml:13: jobs.0.ranks: found -1 in the list; allowed: host numbers, 0 to 1048575",
        ),
        (
            'ranks: "0-7"',
            'ranks: "7-0"',
            'error: plan.yaml:13: jobs.0.ranks: found "7-0", which runs backwards; allowed: ranges from low to high\n'
            'hint: ranks in another order than the hosts\' are listed one by one, such as "3,2,1,0"',
        ),
        (
            'ranks: "0-7"',
            'ranks: "0;7"',
            'error: plan.yaml:13: jobs.0.ranks: found "0;7" in "0;7"; allowed: all, hosts such as "0-7" or "0,1,6,7", or '
            "a list of host numbers",
        ),
        (
            'ranks: "0-7"',
            'ranks: "0-999999999"',
            "error: plan.yaml:13: jobs.0.ranks: found host 999999999; allowed: host numbers, 0 to 1048575",
        ),
        # Jobs
        (
            "sweep:",
            "  - {collective: incast}\nsweep:",
            "error: plan.yaml:15: jobs.1.ranks: found host 0, which job `test` has; allowed: hosts of no other job\n"
            "hint: give `ranks`; without it a job takes all hosts\n"
            "error: plan.yaml:15: jobs.1.name: found `test` again; allowed: a name no other job has",
        ),
        (
            "sweep:",
            '  - {name: two, collective: incast, ranks: "6,7"}\nsweep:',
            "error: plan.yaml:15: jobs.1.ranks: found host 6, which job `test` has; allowed: hosts of no other job",
        ),
        (
            "collective: all-to-all",
            "collective: alltoall",
            'error: plan.yaml:14: jobs.0.collective: found "alltoall"; allowed: all-reduce, all-gather, reduce-scatter, '
            "all-to-all, gather, broadcast, incast, permutation\nhint: did you mean `all-to-all`?",
        ),
        (
            "collective: all-to-all",
            "collective: all-to-all\n    algorithm: ring",
            'error: plan.yaml:15: jobs.0.algorithm: found "ring", which is no algorithm of all-to-all; allowed: parallel',
        ),
        (
            "collective: all-to-all",
            "collective: gather\n    root: 8",
            "error: plan.yaml:15: jobs.0.root: found rank 8; allowed: ranks 0 to 7 of this job",
        ),
        (
            "collective: all-to-all",
            "collective: gather\n    root: -1",
            "error: plan.yaml:15: jobs.0.root: found -1; allowed: 0 or more",
        ),
        (
            'jobs:\n  - name: test\n    ranks: "0-7"\n    collective: all-to-all\n',
            "jobs: []\n",
            "error: plan.yaml:11: jobs: found an empty list; allowed: 1 or more items",
        ),
        # Sizes
        ("[16MB, 32MB]", "0", f"error: plan.yaml:16: sweep.data_size: found 0; allowed: more than 0: {SIZES}"),
        (
            "[16MB, 32MB]",
            "[16MB, -32MB]",
            f'error: plan.yaml:16: sweep.data_size.1: found "-32MB", which is negative; allowed: {SIZES}',
        ),
        (
            "[16MB, 32MB]",
            "16Mb",
            f'error: plan.yaml:16: sweep.data_size: found "16Mb" with the unknown unit "Mb"; allowed: {SIZES}\n'
            'hint: did you mean "MB"?',
        ),
        ("[16MB, 32MB]", "[]", "error: plan.yaml:16: sweep.data_size: found an empty list; allowed: 1 or more items"),
        ("[16MB, 32MB]", "[16MB, 16384KB]", "error: plan.yaml:16: sweep.data_size.1: found 16MB again; allowed: each data "
         "size once\nhint: `iterations` repeats trials"),
        (
            "[16MB, 32MB]",
            "[16MB, 1001]",
            "error: plan.yaml:16: sweep.data_size.1: found 1001 bytes, which do not divide into 8 equal parts; allowed: "
            "multiples of 8 bytes for the all-to-all of 8 ranks of job `test`\n"
            "hint: the nearest that divide: 1000 and 1008",
        ),
        (
            "[16MB, 32MB]",
            "{start: 4, factor: 2, end: 1KB}",
            "error: plan.yaml:16: sweep.data_size.start: found 4 bytes, which do not divide into 8 equal parts; allowed: "
            "multiples of 8 bytes for the all-to-all of 8 ranks of job `test`\n"
            "hint: the nearest that divide: 8",
        ),
        (
            "[16MB, 32MB]",
            "{start: 16MB, factor: 1, end: 1GB}",
            "error: plan.yaml:16: sweep.data_size.factor: found 1; allowed: 2 or more",
        ),
        (
            "[16MB, 32MB]",
            "{start: 16MB, end: 1MB}",
            "error: plan.yaml:16: sweep.data_size.end: found 1MB, below the start; allowed: 16MB or more",
        ),
        (
            "[16MB, 32MB]",
            "{start: 16MB, stop: 1GB}",
            "error: plan.yaml:16: sweep.data_size.end: found nothing; allowed: a value: it has no default\n"
            "hint: `end`: No data size is above this one [size].\n"
            "error: plan.yaml:16: sweep.data_size.stop: found an unknown key; allowed: start, factor, end",
        ),
        (
            "sweep:\n  data_size: [16MB, 32MB]\n",
            "",
            "error: plan.yaml:12: jobs.0.data_size: found nothing; allowed: a data size, as there is no sweep\n"
            "hint: add `sweep: {data_size: 16MB}`, or `data_size` to the job",
        ),
        (
            "collective: all-to-all",
            "collective: all-to-all\n    data_size: 1MB",
            "error: plan.yaml:17: sweep.data_size: found a sweep that changes no job; allowed: a job without its own "
            "data_size\nhint: leave the sweep out, or the `data_size` of a job",
        ),
        (
            "sweep:",
            "iterations: 6000\nsweep:",
            "error: plan.yaml:15: iterations: found 12000 trials; allowed: at most 10000: sizes times iterations",
        ),
        (
            "ack_every: 2",
            "qps_per_rank_pair: 3",
            "error: plan.yaml:16: sweep.data_size.0: found 16777216 bytes, which do not divide into 24 equal parts; allowed: "
            "multiples of 24 bytes for the all-to-all of 8 ranks of job `test` with 3 queue pairs for each rank pair\n"
            "hint: the nearest that divide: 16777200 and 16777224\n"
            "error: plan.yaml:16: sweep.data_size.1: found 33554432 bytes, which do not divide into 24 equal parts; allowed: "
            "multiples of 24 bytes for the all-to-all of 8 ranks of job `test` with 3 queue pairs for each rank pair\n"
            "hint: the nearest that divide: 33554424 and 33554448",
        ),
        # Fields against each other
        (
            "ack_every: 2",
            "ack_every: 3, window: 2",
            "error: plan.yaml:10: transport.ack_every: found 3 packets with a window of 2; allowed: 1 to 2, or the window "
            "never opens",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_line(old: str, new: str, expected: str) -> None:
    assert errors_of(with_line(old, new)) == expected


def test_rails_without_spines_are_refused() -> None:
    text = with_line(
        "    kind: leaf-spine\n    leaves: 2\n    hosts_per_leaf: 4\n    spines: 4\n",
        "    kind: rail-optimised\n    servers: 2\n    rails: 4\n    spines: 0\n",
    )
    expected = (
        "error: plan.yaml:8: fabric.topology.spines: found 0 spines for 4 rails; "
        "allowed: 1 or more, so that every rank reaches every other"
    )
    assert errors_of(text) == expected


def test_everything_wrong_is_named_at_once_in_the_order_of_the_file() -> None:
    text = with_line("ack_every: 2", "ack_every: 0, mtu_: 1").replace("name: small", "name: [small]")
    fields = [line.split(": ")[2] for line in errors_of(text).splitlines() if line.startswith("error:")]
    assert fields == ["name", "transport.ack_every", "transport.mtu_"]


def test_a_flood_of_problems_is_cut_short() -> None:
    text = with_line("[16MB, 32MB]", "[" + "x, " * 100 + "x]")
    lines = errors_of(text).splitlines()
    assert len(lines) == 51
    assert lines[-1] == "error: and 51 more"


def test_a_published_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    name = write_plan(tmp_path, SMALL + "published: keysight_jct2_altoall.csv\n")
    with pytest.raises(PlanError) as caught:
        load_plan(name)
    assert str(caught.value) == (
        f'error: {name}:17: published: found no file "keysight_jct2_altoall.csv"; allowed: a file next to the plan, or a '
        "shipped one: keysight_jct1_allreduce_ring.csv, keysight_jct2_alltoall.csv, "
        "keysight_jct3_allreduce_ring_200gb.csv\nhint: did you mean `keysight_jct2_alltoall.csv`?"
    )


def test_a_file_is_loaded_whole(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(
        "# source\ndata_size_bytes,min_fct_ms\n16777216,1.5\n", encoding="utf-8"
    )
    name = write_plan(tmp_path, SMALL + "published: table.csv\n")
    loaded = load_plan(name)
    assert loaded.path == tmp_path / "plan.yaml"
    assert loaded.text.endswith("published: table.csv\n")
    assert [trial.data_size_bytes for trial in loaded.trials] == [16 * 2**20, 32 * 2**20]
    assert loaded.published is not None
    assert loaded.published.value(16 * 2**20, "min_fct_ms") == 1.5


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "jct-altoall",
            "error: jct-altoall: found no such plan; allowed: a shipped plan's name, or a file\n"
            "hint: did you mean `jct-alltoall`?",
        ),
        (
            "absent.yaml",
            "error: absent.yaml: found no such plan; allowed: a shipped plan's name, or a file\n"
            "hint: `fabricbench plans` lists the shipped plans",
        ),
        (
            "",
            'error: "": found no such plan; allowed: a shipped plan\'s name, or a file\n'
            "hint: `fabricbench plans` lists the shipped plans",
        ),
    ],
)
def test_a_plan_that_is_not_there_is_named(name: str, expected: str) -> None:
    with pytest.raises(PlanError) as caught:
        load_plan(name)
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("spec_field", "path"),
    [
        ("jobs[0].hosts[3]", ("jobs", 0, "ranks", 3)),
        ("fabric.topology.host_link.rate_bps", ("fabric", "topology", "host_link", "rate")),
        ("fabric.topology.core_link.cable.delay_ps", ("fabric", "topology", "core_link", "length")),
        ("fabric.switch.buffer_bytes", ("fabric", "switch", "buffer")),
        ("transport.window_packets", ("transport", "window")),
        ("transport.message_bytes", ("transport", "message_size")),
        ("jobs[1].data_bytes", ("jobs", 1, "data_size")),
    ],
)
def test_fields_of_the_engine_are_fields_of_the_plan(spec_field: str, path: tuple[str | int, ...]) -> None:
    assert plan_path(spec_field) == path
