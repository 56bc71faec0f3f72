"""Counters of hosts that grew during a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tests.measured.pasted.forms import SIZES, Pasted
from tests.measured.printed import flat, nccl, perftest

COUNTER = "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/{}:{}\n"


def counted(**values: int) -> str:
    names = (
        "out_of_sequence",
        "packet_seq_err",
        "local_ack_timeout_err",
        "out_of_buffer",
        "rx_write_requests",
    )
    return "$ hostname\nr1\n" + "".join(COUNTER.format(name, values.get(name, 0)) for name in names)


COUNTED = {
    "order": Pasted(
        nccl(flat(60.0, SIZES)),
        8,
        200.0,
        ["reordering"],
        ["packet-loss"],
        counters=(counted(out_of_sequence=3_000_000, packet_seq_err=2_000_000), counted()),
    ),
    "loss": Pasted(
        nccl(flat(60.0, SIZES)),
        8,
        200.0,
        ["packet-loss"],
        counters=(
            counted(out_of_sequence=30_000, packet_seq_err=20_000, local_ack_timeout_err=900),
            counted(),
        ),
    ),
    "a few packets": Pasted(
        nccl(flat(60.0, SIZES)),
        8,
        200.0,
        ["packet-loss"],
        (),
        ["reordering"],
        counters=(counted(out_of_sequence=40), counted()),
    ),
    "not ready": Pasted(
        perftest([(65536, 12.0)], title="Send BW Test"),
        None,
        100.0,
        ["receiver-not-ready"],
        counters=(counted(out_of_buffer=700_000), counted()),
    ),
    "before the run": Pasted(
        nccl(flat(194.0, SIZES)),
        8,
        200.0,
        ["as-expected"],
        certain=["as-expected"],
        counters=(
            counted(out_of_sequence=9_000_000, local_ack_timeout_err=5),
            counted(out_of_sequence=9_000_000, local_ack_timeout_err=5),
        ),
    ),
}


LOW = nccl(flat(60.0, SIZES))


def hw(v: Mapping[str, int]) -> str:
    return "$ hostname\nr1\n" + "".join(COUNTER.format(k, x) for k, x in v.items())


def eth(v: Mapping[str, int]) -> str:
    return "$ ethtool -S ens6f0np0\nNIC statistics:\n" + "".join(f"     {k}: {x}\n" for k, x in v.items())


Z = {
    "out_of_sequence": 0,
    "packet_seq_err": 0,
    "local_ack_timeout_err": 0,
    "np_cnp_sent": 0,
    "rp_cnp_handled": 0,
    "np_ecn_marked_roce_packets": 0,
}


def grown(
    first: Sequence[str],
    after: Mapping[str, int],
    before: Mapping[str, int],
    in3: Sequence[str] = (),
    absent: Sequence[str] = (),
    form: Callable[[Mapping[str, int]], str] | None = None,
) -> Pasted:
    """Return a slow run with counters after and before it."""
    said = form or hw
    return Pasted(LOW, 8, 200.0, first, in3, absent, (), (said(after), said(before)))


E0 = {
    "rx_discards_phy": 0,
    "rx_symbol_err_phy": 0,
    "rx_crc_errors_phy": 0,
    "link_down_events_phy": 0,
    "rx_prio3_pause": 0,
    "tx_prio3_pause": 0,
    "rx_bytes_phy": 1,
}


GROWN = {
    "cnp": grown(
        ["congestion"],
        Z | {"np_cnp_sent": 5_000_000, "rp_cnp_handled": 4_900_000, "np_ecn_marked_roce_packets": 6_000_000},
        Z,
    ),
    "few cnp": grown(
        ["few-adapters", "acs", "slower-port", "unexplained", "pcie-slot"],
        Z | {"np_cnp_sent": 900},
        Z,
        absent=["congestion"],
    ),
    "symbol": grown(["link-errors"], E0 | {"rx_symbol_err_phy": 20000}, E0, form=eth),
    "crc and flap": grown(
        ["link-errors"], E0 | {"rx_crc_errors_phy": 2000, "link_down_events_phy": 1}, E0, form=eth
    ),
    "paused by the network": grown(["congestion"], E0 | {"rx_prio3_pause": 9_000_000}, E0, form=eth),
    "pauses the network": grown(["slow-receiver"], E0 | {"tx_prio3_pause": 9_000_000}, E0, form=eth),
    "drops": grown(["slow-receiver"], E0 | {"rx_discards_phy": 900_000}, E0, form=eth),
    "timeouts": grown(
        ["packet-loss"],
        Z | {"out_of_sequence": 4_000, "packet_seq_err": 3_900, "local_ack_timeout_err": 300},
        Z,
    ),
    "order with cnp": grown(
        ["reordering"],
        Z | {"out_of_sequence": 8_000_000, "packet_seq_err": 7_000_000, "np_cnp_sent": 30_000},
        Z,
        in3=["packet-loss"],
    ),
}
