import polars as pl
import pytest

from fabricbench.analysis.links.utilisation import link_use_percent, packet_hops_per_s, sampled_use


def test_link_use_is_the_share_of_the_run() -> None:
    assert link_use_percent(250, 1000) == 25.0
    assert link_use_percent(0, 0) == 0.0


def test_a_port_that_sends_at_line_rate_is_used_to_the_full() -> None:
    links = pl.DataFrame({"from": ["leaf0"], "from_port": [3], "rate_bps": [400_000_000_000]})
    # 400 Gb/s is 50,000 bytes in a microsecond.
    rows = [
        ("tx_bytes", "leaf0", 3, time, sent) for time, sent in ((0, 0), (10**6, 50_000), (3 * 10**6, 100_000))
    ]
    rows += [("queue_bytes", "leaf0", 3, 0, 77)]
    series = pl.DataFrame(rows, schema=["metric", "node", "port", "time_ps", "value"], orient="row")
    use = sampled_use(series, links)
    assert use.select("node", "port", "time_ps").rows() == [("leaf0", 3, 10**6), ("leaf0", 3, 3 * 10**6)]
    assert use["use_percent"].to_list() == pytest.approx([100.0, 50.0])


def test_intervals_do_not_reach_from_one_port_to_the_next() -> None:
    links = pl.DataFrame({"from": ["a", "a"], "from_port": [0, 1], "rate_bps": [10**11, 10**11]})
    rows = [("tx_bytes", "a", port, time, 10**6) for port in (0, 1) for time in (0, 10)]
    series = pl.DataFrame(rows, schema=["metric", "node", "port", "time_ps", "value"], orient="row")
    assert sampled_use(series, links)["use_percent"].to_list() == [0.0, 0.0]


def test_each_port_has_its_own_samples_counter_and_line_rate() -> None:
    # Bytes by 1 us and by 3 us, and the line rate at which the first is all that fits.
    sent = {("a", 0): (100, 200), ("a", 1): (1_000, 3_000), ("b", 0): (50, 250), ("b", 1): (700, 700)}
    rates = [(node, port, first * 8 * 10**6) for (node, port), (first, _) in sent.items()]
    links = pl.DataFrame(rates, schema=["from", "from_port", "rate_bps"], orient="row")
    rows = [
        ("tx_bytes", node, port, time, value)
        for index, time in enumerate((0, 10**6, 3 * 10**6))
        for (node, port), values in reversed(sent.items())
        for value in [(0, *values)[index]]
    ]
    series = pl.DataFrame(rows, schema=["metric", "node", "port", "time_ps", "value"], orient="row")
    use = sampled_use(series, links)
    assert use.select("node", "port").rows() == [end for end in sent for _ in range(2)]
    assert use["time_ps"].to_list() == [10**6, 3 * 10**6] * 4
    assert use["use_percent"].to_list() == pytest.approx([100, 50, 100, 100, 100, 200, 100, 0])


def test_speed_is_hops_over_wall_time() -> None:
    assert packet_hops_per_s(1000, 0.5) == 2000
    assert packet_hops_per_s(0, 0.0) is None
