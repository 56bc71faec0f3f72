"""Labs on this machine: real namespaces, real frames. Root only."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.lab.conftest import Made, plan_of_lab
from tests.lab.traffic import received_datagrams, tcp_rate_bps

from fabricbench.lab import agents, build, removal, state
from fabricbench.lab.errors import LabError
from fabricbench.lab.kernel import counters, marking, namespaces, ports, steering
from fabricbench.lab.state import Lab


def run(*arguments: str, folder: Path, timeout: float = 20) -> subprocess.CompletedProcess[str]:
    """Run the program."""
    return subprocess.run(
        [sys.executable, "-m", "fabricbench", *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=timeout,
        env=os.environ | {state.RUN_VARIABLE: str(folder)},
    )


def left_of(name: str) -> list[str]:
    return namespaces.existing(f"fb-{name}-")


def uplink_packets(lab: Lab) -> Counter[str]:
    """Return how many frames each uplink of the first leaf has sent."""
    rows = [row for row in counters.counters(lab) if row.from_node == "leaf0" and row.to_node[:5] == "spine"]
    return Counter({row.to_node: row.tx_packets for row in rows})


@pytest.mark.soak
def test_all_hosts_reach_each_other_with_full_frames_over_all_uplinks(make: Made) -> None:
    lab = make()
    hosts = lab.blueprint.hosts
    # The longest datagram that fits is as long as the plan's RoCE packets, headers and all.
    full = [bytes(lab.blueprint.mtu_bytes - 28)]
    for sender in hosts:
        for receiver in hosts:
            if sender != receiver:
                reached = received_datagrams(
                    sender.namespace, receiver.namespace, receiver.addresses[0], full
                )
                assert len(reached) == 1, f"{sender.name} does not reach {receiver.name}"
    with pytest.raises(OSError, match="too long"):
        received_datagrams(hosts[0].namespace, hosts[7].namespace, "10.0.0.8", [bytes(len(full[0]) + 1)])

    before = uplink_packets(lab)
    received_datagrams(hosts[0].namespace, hosts[7].namespace, "10.0.0.8", [bytes(100)] * 200)
    spread = uplink_packets(lab) - before
    assert len(spread) == 4
    assert sum(spread.values()) == 200
    assert min(spread.values()) >= 25  # 50 each on average, with a deviation of 6


@pytest.mark.soak
def test_hosts_of_a_fat_tree_reach_every_pod(make: Made) -> None:
    shape = (
        "{kind: fat-tree, pods: 4, leaves_per_pod: 2, hosts_per_leaf: 2, aggs_per_pod: 2, cores_per_agg: 2}"
    )
    lab = make("jct-alltoall", f"fabric.topology={shape}")
    first, *others = lab.blueprint.hosts
    for other in others:
        ends = first.namespace, other.namespace, other.addresses[0]
        assert len(received_datagrams(*ends, [bytes(100)] * 40)) == 40, f"not all reach {other.name}"
    cores = [row for row in counters.counters(lab) if row.to_node.startswith("core") and row.tx_packets]
    assert len({row.to_node for row in cores}) == 4


@pytest.mark.soak
def test_a_link_has_its_scaled_rate(make: Made) -> None:
    lab = make(scale=2_000)
    first, last = lab.blueprint.hosts[0], lab.blueprint.hosts[-1]
    mtu = lab.blueprint.mtu_bytes
    # TCP with time stamps: 52 bytes of headers in a packet, 14 + 24 around it on the wire.
    ideal = 200e6 * (mtu - 52) / (mtu + 14 + ports.FRAMING_BYTES)
    # What else this machine does can only slow the sender down, so the best of some counts.
    measured = 0.0
    for _ in range(20):
        rate = tcp_rate_bps(first.namespace, last.namespace, last.addresses[0], 1.0)
        measured = max(measured, rate)
        if measured > 0.95 * ideal:
            break
    assert measured == pytest.approx(ideal, rel=0.05)


@pytest.mark.slow
def test_hosts_of_two_ports_send_from_each_address_by_its_port(make: Made) -> None:
    shape = "fabric.topology={kind: rail-optimised, servers: 2, rails: 2, spines: 1, scale_up_link: 900Gbps}"
    lab = make("jct-alltoall", shape, "jobs.0.ranks=0-3")
    first, second = lab.blueprint.hosts[:2]
    assert [len(host.addresses) for host in lab.blueprint.hosts] == [2, 2, 2, 2]

    def echo(own: str, other: str) -> str:
        def listen() -> socket.socket:
            return socket.create_server((other, 0))

        with namespaces.inside(second.namespace, listen) as server:
            target = server.getsockname()
            client = namespaces.inside(
                first.namespace, lambda: socket.create_connection(target, 2, source_address=(own, 0))
            )
            stream, (seen, _) = server.accept()
            with client, stream:
                return str(seen)

    for own, other in zip(first.addresses, second.addresses, strict=True):
        assert echo(own, other) == own
    used = {(row.from_node, row.from_port) for row in counters.counters(lab) if row.tx_packets}
    assert {(first.name, 0), (first.name, 1)} <= used


@pytest.mark.slow
def test_a_full_queue_marks_as_the_plan_says_and_drops_at_its_end(make: Made) -> None:
    ecn = "fabric.switch.ecn={kmin: 40KB, kmax: 80KB, pmax: 100%, reference_rate: null}"
    lab = make("cc-alltoall-dcqcn", ecn, "fabric.switch.buffer=200KB", scale=10_000)
    if lab.without_marks:
        pytest.skip(f"no marks here: {lab.without_marks}")
    hosts = lab.blueprint.hosts
    receiver = hosts[1]
    # Two hosts send to one at full rate for about 160 ms: a queue of half of it, 800 KB, does not fit.
    flood = [bytes(4_000)] * 200

    def send(sender: str) -> None:
        def burst() -> None:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
                client.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 2)
                client.setsockopt(socket.SOL_SOCKET, 32, 1 << 24)  # SO_SNDBUFFORCE
                for datagram in flood:
                    client.sendto(datagram, (receiver.addresses[0], 4791))

        namespaces.inside(sender, burst)

    for sender in (hosts[0], hosts[2]):
        send(sender.namespace)
    time.sleep(0.6)
    rows = counters.counters(lab)
    (port,) = [row for row in rows if row.to_node == receiver.name]
    assert port.queue_max_bytes is not None
    assert 80_000 < port.queue_max_bytes <= 200 << 10
    assert port.marked is not None
    assert 0 < port.marked < 2 * len(flood)
    assert port.drops > 0
    assert port.tx_packets + port.drops == 2 * len(flood)
    assert all(row.marked == 0 for row in rows if row.marked is not None and row != port)


def test_acknowledgements_overtake_data_that_waits(make: Made) -> None:
    # A datagram takes 16 ms at 2 Mb/s.
    lab = make(
        "jct-alltoall", "fabric.topology={kind: single-switch, hosts: 2}", "jobs.0.ranks=0-1", scale=200_000
    )
    assert lab.without_priority == ""
    first, second = lab.blueprint.hosts
    address = (second.addresses[0], 4791)

    def bound(port: int, own: str) -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, 32, 1 << 24)  # SO_SNDBUFFORCE
        made.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
        made.bind((own, port))
        made.settimeout(10)
        return made

    with (
        namespaces.inside(second.namespace, lambda: bound(4791, second.addresses[0])) as receiver,
        namespaces.inside(first.namespace, lambda: bound(50_000, first.addresses[0])) as data,
        namespaces.inside(first.namespace, lambda: bound(4791, first.addresses[0])) as acknowledgements,
    ):
        for _ in range(20):
            data.sendto(bytes(4_000), address)
        acknowledgements.sendto(b"ack", address)
        order = list[int]()
        try:
            while len(order) < 21:
                order.append(len(receiver.recv(4_096)))
        except TimeoutError:
            pytest.fail(f"{len(order)} of 21 datagrams came: {order}, {counters.counters(lab)}")
    # Some pass at once, and one is about to leave.
    assert order.index(3) < 8


@pytest.mark.slow
def test_frames_that_cannot_be_marked_are_not(make: Made) -> None:
    ecn = "fabric.switch.ecn={kmin: 0B, kmax: 1B, pmax: 100%, reference_rate: null}"
    lab = make("cc-alltoall-dcqcn", ecn)
    if lab.without_marks:
        pytest.skip(f"no marks here: {lab.without_marks}")
    first, last = lab.blueprint.hosts[0], lab.blueprint.hosts[-1]
    ends = first.namespace, last.namespace, last.addresses[0]
    assert set(received_datagrams(*ends, [bytes(4_000)] * 50, ecn=0)) == {0}
    seen = received_datagrams(*ends, [bytes(4_000)] * 50, ecn=2)
    assert set(seen) <= {2, 3}


@pytest.mark.slow
def test_losses_of_the_plan_happen_in_both_directions(make: Made) -> None:
    loss = "fabric.failures=[{at: 0s, kind: frame-loss, link: host0-leaf0, share: 25%}]"
    lab = make("jct-alltoall", loss)
    if lab.without_marks:
        pytest.skip(f"no losses here: {lab.without_marks}")
    first, second = lab.blueprint.hosts[:2]
    out = received_datagrams(first.namespace, second.namespace, second.addresses[0], [bytes(100)] * 400)
    back = received_datagrams(second.namespace, first.namespace, first.addresses[0], [bytes(100)] * 400)
    rows = [row for row in counters.counters(lab) if row.lost is not None]
    assert sorted((row.from_node, row.to_node) for row in rows) == [("host0", "leaf0"), ("leaf0", "host0")]
    lost = {row.from_node: row.lost for row in rows}
    assert lost == {"host0": 400 - len(out), "leaf0": 400 - len(back)}
    assert all(50 <= (number or 0) <= 150 for number in lost.values())  # 100, with a deviation of 9


def test_a_lab_without_the_kernels_types_says_that_it_does_not_mark(
    make: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("fabricbench.lab.kernel.btf._VMLINUX", tmp_path / "none")
    lab = make("cc-alltoall-dcqcn")
    assert "does not describe its types" in lab.without_marks
    assert lab.marks_map is None
    assert {row.marked for row in counters.counters(lab)} == {None}


def test_down_leaves_nothing(make: Made) -> None:
    lab = make()
    sleeping = agents.start(lab, lambda _node: ["sleep", "600"])
    stray = subprocess.Popen(agents.entering(lab.blueprint.switches[0], ["sleep", "600"]))
    while len(namespaces.processes([node.namespace for node in lab.blueprint.nodes])) < len(sleeping) + 1:
        time.sleep(0.01)
    removed = removal.down(lab.name)
    assert removed.namespaces == 14
    assert removed.processes == len(sleeping) + 1
    assert stray.wait(5) == -signal.SIGTERM
    assert not any(agent.is_running for agent in sleeping)
    assert left_of(lab.name) == []
    assert state.names() == []


@pytest.mark.soak
def test_two_labs_stand_beside_each_other(make: Made) -> None:
    first, second = make(), make()
    ends = [lab.blueprint.hosts[0].namespace for lab in (first, second)]
    other = first.blueprint.hosts[1]
    received_datagrams(ends[0], other.namespace, other.addresses[0], [bytes(100)] * 10)
    assert sum(row.tx_packets for row in counters.counters(first)) == 20
    assert sum(row.tx_packets for row in counters.counters(second)) == 0
    removal.down(first.name)
    assert left_of(first.name) == []
    assert len(left_of(second.name)) == 14
    with pytest.raises(LabError, match="no lab"):
        state.find(first.name)


def test_up_again_keeps_the_lab_and_refuses_another_of_its_name(make: Made) -> None:
    lab = make()
    again = build.up(lab.blueprint)
    assert again.made_at == lab.made_at
    with pytest.raises(LabError, match="already"):
        build.up(lab.blueprint.model_copy(update={"scale": 7}))
    assert len(left_of(lab.name)) == 14


@pytest.mark.parametrize("where", ["create", "inside"])
def test_an_error_half_way_leaves_nothing(make: Made, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    del make
    wanted = plan_of_lab()
    real: Callable[..., object] = getattr(namespaces, where)
    calls = 0

    def fail_at_the_ninth(*arguments: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 9:
            raise OSError(28, "No space left on device")
        return real(*arguments)

    monkeypatch.setattr(namespaces, where, fail_at_the_ninth)
    with pytest.raises(LabError, match="No space left on device"):
        build.up(wanted)
    assert calls == 9
    assert left_of(wanted.name) == []
    assert state.names() == []


def test_what_a_crash_has_left_is_removed_by_down_and_by_up(make: Made, run_folder: Path) -> None:
    del make
    wanted = plan_of_lab()
    # A process that dies without a word after its fifth node.
    script = (
        "import os, sys\n"
        "from fabricbench.lab import build\n"
        "from fabricbench.lab.blueprint import Blueprint\n"
        "calls = []\n"
        "def check():\n"
        "    calls.append(1)\n"
        "    if len(calls) == 6: os._exit(9)\n"
        "build.up(Blueprint.model_validate_json(sys.stdin.read()), check)\n"
    )

    def crash() -> None:
        finished = subprocess.run(
            [sys.executable, "-c", script], input=wanted.model_dump_json(), text=True, check=False
        )
        assert finished.returncode == 9
        assert len(left_of(wanted.name)) == 5

    crash()
    with pytest.raises(LabError, match="not complete"):
        state.find(wanted.name)
    assert "cut short" in run("lab", "list", folder=run_folder).stdout
    assert removal.down(wanted.name).namespaces == 5
    assert left_of(wanted.name) == []
    crash()
    lab = build.up(wanted)
    assert lab.phase == "up"
    assert len(left_of(wanted.name)) == 14


def test_a_lab_whose_file_cannot_be_read_is_removed_by_its_names(make: Made) -> None:
    lab = make()
    (lab.folder / "lab.json").write_text("{}")
    assert removal.down(lab.name).namespaces == 14
    assert left_of(lab.name) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_up_leaves_nothing(make: Made, number: signal.Signals) -> None:
    del make
    shape = "fabric.topology={kind: leaf-spine, leaves: 8, hosts_per_leaf: 8, spines: 8}"
    command = [sys.executable, "-m", "fabricbench", "lab", "up", "jct-alltoall", "-s", shape]
    name = f"test{os.getpid()}{number}"
    program = subprocess.Popen([*command, "--name", name], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 20
    while len(left_of(name)) < 5 and time.monotonic() < deadline:
        time.sleep(0.005)
    program.send_signal(number)
    _, told = program.communicate(timeout=20)
    assert program.returncode == 128 + number
    assert told == f"interrupted: nothing is left of lab {name}\n"
    assert left_of(name) == []
    assert state.names() == []


def test_agents_run_in_their_hosts_and_end_as_a_group(make: Made) -> None:
    lab = make()
    script = "ip -brief address show port0; sleep 600 & echo ready; wait"
    agents.start(lab, lambda _node: ["sh", "-c", script])
    logs = [Path(agent.log) for agent in agents.running(lab)]
    deadline = time.monotonic() + 10
    while not all("ready" in log.read_text() for log in logs) and time.monotonic() < deadline:
        time.sleep(0.02)
    addresses = [log.read_text().split()[2] for log in logs]
    assert addresses == [f"{host.addresses[0]}/32" for host in lab.blueprint.hosts]
    with pytest.raises(LabError, match="run in lab"):
        agents.start(lab, lambda _node: ["true"])
    assert agents.stop(lab) == 8
    assert namespaces.processes([host.namespace for host in lab.blueprint.hosts]) == []
    assert agents.running(lab) == []


def test_an_agent_that_ends_is_told_with_its_last_words(make: Made) -> None:
    lab = make()
    agents.start(lab, lambda node: ["sh", "-c", f"echo no port on {node.name}; exit 3"])
    deadline = time.monotonic() + 10
    while len(agents.ended(lab)) < 8 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert agents.ended(lab)[3][1] == "no port on host3"


def test_the_commands_from_up_to_down(make: Made, run_folder: Path) -> None:
    del make
    name = f"test{os.getpid()}"
    up = run("lab", "up", "jct-alltoall", "--name", name, folder=run_folder)
    assert up.returncode == 0, up.stderr
    assert up.stdout == f"lab {name}: 8 hosts, 6 switches, scale 1,000\n"
    assert "not as in the plan: fabric delays" in up.stderr
    assert f"{name}  jct-alltoall   1000      8         6  up" in run("lab", "list", folder=run_folder).stdout
    shown = run("lab", "show", folder=run_folder).stdout
    assert "10.0.0.8" in shown
    inside = run("lab", "exec", "host2", "--", "ip", "-brief", "address", folder=run_folder)
    assert "10.0.0.3/32" in inside.stdout
    assert run("lab", "exec", "host2", "--", "sh", "-c", "exit 7", folder=run_folder).returncode == 7
    wrong = run("lab", "exec", "host22", "--", "true", folder=run_folder)
    assert (wrong.returncode, wrong.stderr) == (
        2,
        f'error: lab {name} has no node "host22"\nhint: did you mean `host2`?\n',
    )
    assert run("lab", "counters", "--format", "csv", folder=run_folder).stdout.count("\n") == 33
    down = run("lab", "down", folder=run_folder)
    assert down.stdout == f"lab {name}: 14 namespaces removed\n"
    again = run("lab", "down", name, folder=run_folder)
    assert (again.returncode, again.stderr) == (0, f"no lab {name} is up\n")


@pytest.mark.soak
def test_the_kernels_programs_go_with_their_lab(make: Made) -> None:
    lab = make("cc-alltoall-dcqcn")
    if lab.marks_map is None:
        pytest.skip(f"no marks here: {lab.without_marks}")
    removal.down(lab.name)
    deadline = time.monotonic() + 10
    while _has_map(lab) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _has_map(lab)


def _has_map(lab: Lab) -> bool:
    assert lab.marks_map is not None
    try:
        marking.counts(lab.blueprint, lab.marks_map)
    except FileNotFoundError:
        return False
    return True


def test_one_processor_takes_in_what_arrives_at_a_node(make: Made) -> None:
    lab = make()
    if lab.without_order:
        pytest.skip(f"no receive packet steering here: {lab.without_order}")
    for node in lab.blueprint.nodes:
        read = agents.entering(node, ["sh", "-c", "cat /sys/class/net/port*/queues/rx-*/rps_cpus"])
        masks = set(subprocess.run(read, check=True, capture_output=True, text=True).stdout.split())
        assert len(masks) == 1
        assert int(masks.pop().replace(",", ""), 16).bit_count() == 1


_PODS = "{kind: fat-tree, pods: 2, leaves_per_pod: 2, hosts_per_leaf: 2, aggs_per_pod: 2, cores_per_agg: 2}"


@pytest.mark.parametrize(
    ("shape", "is_steered"),
    [("{kind: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 4}", True), (_PODS, False)],
)
def test_frames_are_steered_where_one_switch_of_a_path_chooses(shape: str, is_steered: bool) -> None:
    blueprint = plan_of_lab("jct-alltoall", f"fabric.topology={shape}")
    assert (steering.obstacle(blueprint) == "") is is_steered
