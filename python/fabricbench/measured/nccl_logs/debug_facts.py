"""Facts of a run from NCCL's log (`NCCL_DEBUG=INFO`) and the lines around a benchmark: `debug_facts`.

`DebugFacts` stores them, each with the number and the text of its first line; `facts_of_runs` reads only some
runs of a file. `setting` returns an environment variable, `adapter_names` the adapters without their ports.
The lines are those of `init.cc`, `transport/net.cc`, `transport/net_ib.cc` and `graph/*.cc` of NCCL 2.4 to
2.30; unknown lines are ignored.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fabricbench.measured.file_text.line import SHOWN_MAX, EvidenceLine
from fabricbench.measured.nccl_logs.hardware import HardwareFacts, HardwareReader
from fabricbench.measured.nccl_logs.host_settings import HostSettings
from fabricbench.measured.nccl_logs.rails import RailFacts, RailReader

_CHANNEL = re.compile(
    r"\bChannel \d+(?:/\d+)? ?: (\d+)\S{0,20} (?:-> (\d+)\S{0,20}.{0,40}?)?\bvia ([A-Za-z0-9_/]+)"
)
_CHANNEL_NET = re.compile(
    r"\[(send|receive)\] via NET/([A-Za-z_0-9 ]{1,40})/(\d{1,4})(?:\(\d+\))?((?:/[A-Za-z]+)*)"
)
_SOCKET = re.compile(r"NET/Socket ?: Using ")
_PROVIDER = re.compile(r"NET/OFI .{0,40}[Pp]rovider is (?:tcp|sockets)\b")
_PROCESS = re.compile(r"([^\s:\[\]]{1,255}:\d+):\d+ ")
_LOG = re.compile(r"\b[NR]CCL (?:INFO|WARN|TRACE|ERROR)\b|\bNCCL version ")
_NETWORK = re.compile(r"Using network (\w+)")
_USING_IB = re.compile(r"NET/IB(?:ext\S*)? ?: Using (.+)")
_HCA = re.compile(r"\[\d+\] ?([\w.+-]{1,64}):(\d{1,3})/(\w+)")
_GDR = re.compile(r"GPU Direct RDMA (Disabled|Enabled) for HCA (\d+) '([^']{1,64})'")
_GDR_FAR = re.compile(r"GPU Direct RDMA Disabled for GPU \S{1,24} / HCA \S{1,24} \(distance \d+ > \d+\)")
_GDR_FLAG = re.compile(r"NET/IB ?: GDR ([01])\b")
_SET = re.compile(r"\b(NCCL_[A-Z0-9_]{2,60}) set (?:by environment )?to ([^\s;]+)")
_ASSIGNED = re.compile(r"(?<![A-Z_])(NCCL_[A-Z0-9_]{2,60})=([^\s;'\"]+)")
_COMM = re.compile(
    r"\bn[Rr]anks (\d{1,7})\b(?:.{0,80}?\bnNodes (\d{1,6})\b.{0,80}?\blocalRanks (\d{1,5})\b)?"
)
_FIRST = re.compile(r"([^\s:]{1,255}:\d+):\d+ .{0,80}\bcomm \S+ rank 0 n[Rr]anks (\d+)")
_CHANNELS = re.compile(r"\b(\d{1,4}) coll channels\b(?:.{0,60}?\b(\d{1,4}) nvls channels)?")
_MTU = re.compile(r"\bmtu (\d)\b.{0,40}\bGID\b|\bNET/IB: Dev \d+ Port \d+ qpn \d+ mtu (\d)")
_SEARCH = re.compile(
    r"Pattern \d+, crossNic (\d+), nChannels (\d+), (?:bw|speed) ([\d.]+)/([\d.]+), type (\w+)/(\w+)"
)
_RANK = re.compile(r"Rank\s+(\d{1,7})(?: Group\s+\d+)? Pid\s+(\d+) on\s+(\S+) device\s+\d+ \[[^\]]*\] (.*)")
_HEAD = re.compile(r"[\s#]*size\s+count\s+type\b")
_RUN = re.compile(r"nThread:? (\d{1,6}) nGpus:? (\d{1,6})\b")
_FAILURES = (
    "No device found",
    "Failed to open libibverbs",
    "ibv_open_device failed",
    "Unable to open device",
    "could not read /sys",
)
_COMPLETION = re.compile(r"Got completion (?:from peer \S+ )?with (?:status|error)[ =](?:\w+\()?(\d{1,3})\b")
_ERROR = re.compile(
    r"NCCL WARN (?:Call to (ibv_reg_mr|ibv_modify_qp|ibv_create_\w+|ibv_alloc_pd|ibv_post_\w+)\w* failed"
    r"|socket\w+: [Cc]onnect to |Call to connect\b)"
)
_PORT_EVENT = re.compile(r"Got (?:async|non-fatal async)(?: error)? event ?: (?:port|link) ?(?:error|down)\b")
_STATUS = re.compile(r"\s*Failed status (\d{1,3}): wr_id\b")
FAILED = re.compile(
    r"\s*\S+: Test (?:NCCL|CUDA) failure\b|\s*\.\. ?\S+ pid \d+: Test failure\b"
    r"|\s*mlx\d: \S+: got completion with error\b|\s*Completion with error at "
    r"|.{0,200}Watchdog caught collective operation timeout\b"
    r"|\s*Failed status \d+: wr_id\b|\s*Failed to complete run_\w+ function\b"
)
"""Messages of benchmarks and PyTorch that failed: nccl-tests (`NCCLCHECK`, `CUDACHECK`, `TESTCHECK` of
src/common.h), perftest (`NOTIFY_COMP_ERROR_SEND` of src/perftest_resources.h)."""
_LAUNCH = re.compile(r"(?:^|[\s$#>/])((?:mpirun|mpiexec(?:\.hydra)?|prterun|srun)\s.{1,2000})")
_ACS = re.compile(r"ACSCtl:.{0,120}(?:SrcValid|ReqRedir)\+")
_AVERAGE = re.compile(r"Avg bus bandwidth\s*:\s*([\d.]+(?:e[+-]?\d+)?)")
_MTU_BYTES = {"1": 256, "2": 512, "3": 1024, "4": 2048, "5": 4096}
"""`enum ibv_mtu` of verbs."""
_LINES_MAX = 200_000


@dataclass
class DebugFacts:
    """Facts of a log; empty or none where the log has nothing.

    Attributes:
        lines: Number of lines of NCCL's log.
        networks: Networks by which NCCL moves data between hosts: `IB`, `Socket` or the name of a plug-in.
        adapters: The adapters that it uses, with their port and kind (`IB` or `RoCE`).
        relaxed: Whether it uses relaxed ordering; none if there is no such line.
        gdr: Number of channels between hosts with GPU Direct RDMA (`True`) and without.
        sent: The same for the channels that send: without GPU Direct RDMA reads only these lack it.
        gdr_off: Lines that report that GPU Direct RDMA is off.
        gdr_far: Lines that report that it is off for GPUs too far from an adapter.
        transports: Number of channels by transport: `P2P`, `SHM`, `NET/IB`, `NET/Socket`.
        net_devices: Network and number of the adapters that channels between hosts use.
        processes: Host and number of the processes that logged.
        speeds: Rates of adapters where the log has them [Mb/s].
        settings: Variables, by log or command line.
        completions: Lines with completions in error, by their status.
        errors: Lines with calls that failed, by the call.
        port_events: Lines with a port or link that is down or in error.
        failed: Lines with the message of a benchmark that failed.
        failures: Lines that report a failed step, by the text that is searched.
        ranks: Ranks of the communicator; with nodes and ranks of a node if logged.
        channels: Channels of collectives, and NVLS channels.
        mtu_bytes: Path MTU.
        paths: Bandwidth that graph search assumes [GB/s], by the distance of an adapter to its GPU (`PHB`).
        devices: Rank, process, host and GPU of each device listed.
        heads: Number of heads of tables of nccl-tests.
        average: Average bus bandwidths that nccl-tests prints [GB/s].
        firsts: Processes (host and number) with rank 0 of a communicator.
        acs: Lines of lspci with ACS on.
        acs_off: Number of lines of lspci with ACS off.
        hardware: Rates of ports and PCIe links.
        rails: Adapters at both ends of connections, and those nearest to GPUs.
        by_host: Variables of each host.
        launches: Command lines that start ranks, with their lines.
        where: The first line of each fact, by its name.
    """

    lines: int = 0
    networks: Counter[str] = field(default_factory=Counter)
    adapters: dict[str, str] = field(default_factory=dict)
    relaxed: bool | None = None
    gdr: Counter[bool] = field(default_factory=Counter)
    sent: Counter[bool] = field(default_factory=Counter)
    gdr_off: list[EvidenceLine] = field(default_factory=list)
    gdr_far: list[EvidenceLine] = field(default_factory=list)
    transports: Counter[str] = field(default_factory=Counter)
    net_devices: set[tuple[str, int]] = field(default_factory=set)
    processes: set[str] = field(default_factory=set)
    speeds: dict[str, int] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    completions: dict[int, EvidenceLine] = field(default_factory=dict)
    errors: dict[str, EvidenceLine] = field(default_factory=dict)
    port_events: list[EvidenceLine] = field(default_factory=list)
    failed: list[EvidenceLine] = field(default_factory=list)
    failures: dict[str, EvidenceLine] = field(default_factory=dict)
    ranks: int | None = None
    nodes: int | None = None
    local_ranks: int | None = None
    channels: int | None = None
    nvls_channels: int | None = None
    mtu_bytes: int | None = None
    paths: dict[str, float] = field(default_factory=dict)
    devices: list[tuple[int, int, str, str]] = field(default_factory=list)
    threads: int | None = None
    heads: int = 0
    average: list[float] = field(default_factory=list)
    firsts: set[str] = field(default_factory=set)
    acs: list[EvidenceLine] = field(default_factory=list)
    acs_off: int = 0
    hardware: HardwareFacts = field(default_factory=HardwareFacts)
    rails: RailFacts = field(default_factory=RailFacts)
    by_host: HostSettings = field(default_factory=HostSettings)
    launches: list[tuple[int, str]] = field(default_factory=list)
    where: dict[str, EvidenceLine] = field(default_factory=dict)

    @property
    def hosts(self) -> list[str]:
        """Hosts of the devices, each once."""
        return list(dict.fromkeys(host for _, _, host, _ in self.devices))

    @property
    def first_ranks(self) -> int:
        """Number of processes that report rank 0, each of which prints its own result."""
        listed = len({(pid, host) for rank, pid, host, _ in self.devices if rank == 0})
        return max(listed, min(len(self.firsts), len(self.average)))

    @property
    def rdma_transports(self) -> list[str]:
        """Transports between hosts but TCP sockets."""
        return [name for name in self.transports if name.startswith("NET/") and name != "NET/Socket"]

    @property
    def is_log(self) -> bool:
        """Whether the text has any fact of NCCL's log about the run."""
        facts = (self.networks, self.adapters, self.transports, self.gdr_off, self.failures, self.paths)
        events = (self.completions, self.errors, self.failed, self.port_events)
        return any(facts) or any(events) or self.mtu_bytes is not None


def debug_facts(texts: Sequence[str], runs: Sequence[tuple[int, int]] = ()) -> DebugFacts:
    """Return the facts in the lines of a text.

    Args:
        texts: The lines.
        runs: First and last line of the runs to read; none for all lines.
    """
    facts = DebugFacts()
    reader, rails = HardwareReader(), RailReader()
    for first, last in runs or ((1, len(texts)),):
        for number, text in enumerate(texts[first - 1 : min(last, _LINES_MAX)], first):
            _take(facts, number, text)
            reader.take(number, text)
            rails.take(number, text)
            facts.by_host.take(number, text)
    facts.hardware, facts.rails = reader.facts, rails.facts
    if reader.facts.mtu and facts.mtu_bytes is None:
        facts.mtu_bytes, facts.where["mtu"] = reader.facts.mtu
    kinds = {name: port.kind for (_, name), port in reader.facts.ports.items() if port.kind}
    if kinds and not facts.adapters:
        facts.adapters |= kinds
        facts.where.setdefault("adapters", next(iter(reader.facts.ports.values())).seen)
    for (_, name), port in reader.facts.ports.items():
        if name in facts.adapters:
            speed = round(1000 * port.gbps)
            facts.speeds[name] = min(facts.speeds.get(name, speed), speed)
    return facts


def facts_of_runs(texts: Sequence[str], runs: Sequence[tuple[int, int]], whole: DebugFacts) -> DebugFacts:
    """Return the facts in the lines of some runs, with the errors of the whole text.

    Args:
        texts: The lines of the text.
        runs: First and last line of each run.
        whole: Facts of all lines.
    """
    facts = debug_facts(texts, runs)
    facts.completions, facts.errors, facts.failed = whole.completions, whole.errors, whole.failed
    facts.port_events, facts.acs, facts.heads = whole.port_events, whole.acs, whole.heads
    facts.acs_off, facts.hardware = whole.acs_off, whole.hardware
    facts.rails.nearest = whole.rails.nearest
    facts.nodes = facts.nodes or whole.nodes
    return facts


def _take(facts: DebugFacts, number: int, text: str) -> None:
    """Read a line; the first line of each fact is stored."""
    if "CCL " in text:
        facts.lines += bool(_LOG.search(text))
        message = _whole(text)
        if process := _PROCESS.search(text, 0, max(text.find("CCL "), 0)):
            facts.processes.add(process[1])
        seen = EvidenceLine(number, message[:SHOWN_MAX])
        for take in (_take_network, _take_error, _take_channel, _take_communicator):
            take(facts, seen, message)
        position = text.find(" rank 0 n")
        if position >= 0 and (first := _FIRST.search(text[max(position - 400, 0) : position + 40])):
            facts.firsts.add(first[1])
            facts.where.setdefault("first", seen)
    if "NCCL_" in text:
        for name, value in [*_SET.findall(text), *_ASSIGNED.findall(text)]:
            facts.settings.setdefault(name, value.rstrip(",.")[:120])
            facts.where.setdefault(name, EvidenceLine(number, _bare(text)))
    if " device " in text and (device := _RANK.search(text)):
        facts.devices.append((int(device[1]), int(device[2]), device[3], device[4].strip()))
        facts.where.setdefault("devices", EvidenceLine(number, _bare(text)))
    _take_result(facts, number, text)


def _take_result(facts: DebugFacts, number: int, text: str) -> None:
    """Read a line of nccl-tests, of its launch or of lspci."""
    facts.heads += bool(_HEAD.match(text))
    if run := _RUN.search(text):
        facts.threads = int(run[1]) * int(run[2])
    if average := _AVERAGE.search(text):
        facts.average.append(float(average[1]))
        facts.where.setdefault("average", EvidenceLine(number, _bare(text)))
    if FAILED.match(text):
        facts.failed.append(EvidenceLine(number, _bare(text)))
        if status := _STATUS.match(text):
            facts.completions.setdefault(int(status[1]), facts.failed[-1])
    if ("run" in text or "mpiexec" in text) and (launch := _LAUNCH.search(text)):
        facts.launches.append((number, launch[1]))
    if "ACSCtl" in text and _ACS.search(text):
        facts.acs.append(EvidenceLine(number, _bare(text)))
    elif "ACSCtl" in text:
        facts.acs_off += 1


def _bare(text: str) -> str:
    """Return a line from `NCCL INFO` or `NCCL WARN` on, cut to the length of evidence."""
    return _whole(text)[:SHOWN_MAX]


def _whole(text: str) -> str:
    """Return a line from `NCCL INFO` or `NCCL WARN` on."""
    start = text.find("NCCL INFO")
    start = text.find("NCCL WARN") if start < 0 else start
    return " ".join(text[max(start, 0) :].split())


def _note(facts: DebugFacts, name: str, seen: EvidenceLine) -> None:
    facts.where.setdefault(name, seen)


def _take_network(facts: DebugFacts, seen: EvidenceLine, text: str) -> None:
    if network := _NETWORK.search(text):
        facts.networks[network[1]] += 1
        _note(facts, "network", seen)
    if _SOCKET.search(text) or _PROVIDER.search(text):
        facts.networks["Socket"] += 1
        _note(facts, "network", seen)
    _take_adapters(facts, seen, text)
    if (gdr := _GDR.search(text)) and gdr[1] == "Disabled":
        facts.gdr_off.append(seen)
    if "P2P is disabled between" in text:
        _note(facts, "P2P disabled", seen)
    if _GDR_FAR.search(text):
        facts.gdr_far.append(seen)
    if (flag := _GDR_FLAG.search(text)) and flag[1] == "0":
        facts.gdr_off.append(seen)
    for failure in _FAILURES:
        if failure in text:
            facts.failures.setdefault(failure, seen)
    if (mtu := _MTU.search(text)) and (code := mtu[1] or mtu[2]) in _MTU_BYTES:
        facts.mtu_bytes = min(_MTU_BYTES[code], facts.mtu_bytes or 1 << 20)
        _note(facts, "mtu", seen)


def _take_adapters(facts: DebugFacts, seen: EvidenceLine, text: str) -> None:
    """Read the list of adapters, newer versions with the rate of each."""
    if not (using := _USING_IB.search(text)):
        return
    for name, port, kind in _HCA.findall(using[1]):
        facts.adapters.setdefault(f"{name}:{port}", kind)
    facts.relaxed = "[RO]" in text or bool(facts.relaxed)
    _note(facts, "adapters", seen)


def _take_error(facts: DebugFacts, seen: EvidenceLine, text: str) -> None:
    if completion := _COMPLETION.search(text):
        facts.completions.setdefault(int(completion[1]), seen)
    if "Got " in text and _PORT_EVENT.search(text):
        facts.port_events.append(seen)
    if error := _ERROR.search(text):
        facts.errors.setdefault(error[1] or "socket", seen)


def _take_channel(facts: DebugFacts, seen: EvidenceLine, text: str) -> None:
    if " via " not in text:
        return
    if net := _CHANNEL_NET.search(text):
        network, is_direct = f"NET/{net[2]}", "GDRDMA" in net[4]
        facts.transports[network] += 1
        facts.net_devices.add((network, int(net[3])))
        facts.gdr[is_direct] += 1
        facts.sent[is_direct] += net[1] == "send"
        _note(facts, f"via {network}", seen)
        _note(facts, "net device", seen)
        _note(facts, "gdr" if is_direct else "no gdr", seen)
    elif channel := _CHANNEL.search(text):
        transport = channel[3].split("/")[0]
        facts.transports[transport] += 1
        _note(facts, f"via {transport}", seen)


def _take_communicator(facts: DebugFacts, seen: EvidenceLine, text: str) -> None:
    if comm := _COMM.search(text):
        ranks = int(comm[1])
        if facts.ranks is None or ranks > facts.ranks:
            facts.ranks = ranks
        if comm[2]:
            facts.nodes, facts.local_ranks = int(comm[2]), int(comm[3])
        _note(facts, "communicator", seen)
    if channels := _CHANNELS.search(text):
        facts.channels = int(channels[1])
        facts.nvls_channels = int(channels[2]) if channels[2] else facts.nvls_channels
        _note(facts, "channels", seen)
    if search := _SEARCH.search(text):
        facts.paths[search[6]] = max(float(search[4]), facts.paths.get(search[6], 0.0))
        _note(facts, f"path {search[6]}", seen)
        if search[1] != "0":
            _note(facts, "crossNic", seen)


def setting(facts: DebugFacts, *names: str) -> tuple[str, str, EvidenceLine] | None:
    """Return the first of some variables that is set, with its value and its line."""
    for name in names:
        if name in facts.settings:
            return name, facts.settings[name], facts.where[name]
    return None


def adapter_names(facts: DebugFacts) -> Mapping[str, str]:
    """Return the adapters without their ports."""
    return {name.split(":")[0]: kind for name, kind in facts.adapters.items()}
