import pytest

from fabricbench.figures.links.layout import (
    DirectedLink,
    half_lines,
    natural_key,
    place_nodes,
    port_matrix,
)
from fabricbench.figures.links.map import MAX_MAP_LINKS, map_plot
from fabricbench.figures.links.matrix import matrix_plot
from fabricbench.figures.links.tiers import tiers_plot

TIERS = {"host0": 0, "host1": 0, "host2": 0, "host3": 0, "leaf0": 1, "leaf1": 1, "spine0": 2, "spine1": 2}


def link(source: str, source_port: int, target: str, target_port: int, use: float = 50.0) -> DirectedLink:
    return DirectedLink(source, source_port, target, target_port, 400_000_000_000, 10, 41_580, 1000, use)


def both_ways(a: str, a_port: int, b: str, b_port: int) -> list[DirectedLink]:
    return [link(a, a_port, b, b_port), link(b, b_port, a, a_port)]


def fabric(leaves: int, hosts: int, spines: int) -> tuple[list[DirectedLink], dict[str, int]]:
    links: list[DirectedLink] = []
    for leaf in range(leaves):
        for host in range(hosts):
            links += both_ways(f"host{leaf * hosts + host}", 0, f"leaf{leaf}", host)
        for spine in range(spines):
            links += both_ways(f"leaf{leaf}", hosts + spine, f"spine{spine}", leaf)
    tiers = {"host": 0, "leaf": 1, "spine": 2}
    return links, {one.source: tiers[one.source.rstrip("0123456789")] for one in links}


def test_names_are_ordered_as_people_count() -> None:
    names = ["host10", "host2", "pod1-leaf10", "pod1-leaf9", "host1"]
    assert sorted(names, key=natural_key) == ["host1", "host2", "host10", "pod1-leaf9", "pod1-leaf10"]


def test_each_tier_stands_on_its_own_level_in_order() -> None:
    places = place_nodes(TIERS)
    assert [places[f"host{index}"] for index in range(4)] == [
        (0.125, 0.0),
        (0.375, 0.0),
        (0.625, 0.0),
        (0.875, 0.0),
    ]
    assert places["leaf1"] == (0.75, 1.0)
    assert places["spine0"] == (0.25, 2.0)


def test_the_two_directions_of_a_cable_meet_in_the_middle() -> None:
    there, back = half_lines(both_ways("host0", 0, "leaf0", 0), place_nodes(TIERS))
    assert there.middle == back.middle
    assert {there.start, back.start} == {(0.125, 0), (0.25, 1)}


def test_parallel_cables_are_drawn_apart_and_their_directions_together() -> None:
    cables = both_ways("leaf0", 2, "spine0", 0) + both_ways("leaf0", 3, "spine0", 1)
    lines = half_lines(cables, place_nodes(TIERS))
    middles = {
        (line.link.source_port if line.link.source == "leaf0" else line.link.target_port): line.middle
        for line in lines
    }
    assert middles[2] != middles[3]
    assert len({line.middle for line in lines}) == 2


def test_the_matrix_has_a_row_for_each_leaf_and_a_cell_for_each_port() -> None:
    links, tiers = fabric(leaves=3, hosts=4, spines=2)
    matrix = port_matrix(links, tiers)
    assert list(matrix) == [(0, 1), (1, 2)]
    for pair, ports in (((0, 1), range(4)), ((1, 2), range(4, 6))):
        assert [row.node for row in matrix[pair]] == ["leaf0", "leaf1", "leaf2"]
        for row in matrix[pair]:
            assert [cell.source_port for cell in row.sent] == list(ports)
            assert [cell.target_port for cell in row.received] == list(ports)
            assert {cell.source for cell in row.sent} == {row.node}


def test_a_fabric_is_drawn_as_a_map_or_as_a_matrix_or_as_both() -> None:
    few = fabric(leaves=2, hosts=2, spines=2)
    some = fabric(leaves=4, hosts=4, spines=4)
    many = fabric(leaves=16, hosts=16, spines=8)
    assert len(many[0]) > MAX_MAP_LINKS
    drawn = [(map_plot(*one) is not None, matrix_plot(*one) is not None) for one in (few, some, many)]
    assert drawn == [(True, False), (True, True), (False, True)]
    assert map_plot([], {}) is None


def test_use_by_tier_has_a_band_for_each_direction_with_mean_and_busiest_link() -> None:
    links, tiers = fabric(leaves=16, hosts=16, spines=8)
    up = [one for one in links if (one.source, tiers[one.target]) == ("leaf2", 2)]
    links = [
        link(one.source, one.source_port, one.target, one.target_port, 80.0 if one == up[0] else 10.0)
        for one in links
    ]
    plot = tiers_plot(links, tiers)
    assert plot is not None
    titles = [each.text for each in plot.figure.layout.annotations]
    assert titles == ["hosts → tier 1", "tier 1 → hosts", "tier 1 → tier 2", "tier 2 → tier 1"]
    bands = dict(zip(titles, plot.figure.data, strict=True))
    mean, busiest = bands["tier 1 → tier 2"].z
    assert list(busiest) == [10, 10, 80, *[10] * 13]
    assert list(mean) == [10, 10, pytest.approx(10 + 70 / 8), *[10] * 13]
    others = [band for title, band in bands.items() if title != "tier 1 → tier 2"]
    assert {value for band in others for row in band.z for value in row} == {10}
    assert "leaf2: 8 links" in bands["tier 1 → tier 2"].hovertext[1][2]
    assert "share a cell" not in plot.caption


def test_use_by_tier_of_very_many_switches_is_folded_and_of_few_links_left_to_the_map() -> None:
    links, tiers = fabric(leaves=600, hosts=1, spines=1)
    plot = tiers_plot(links, tiers)
    assert plot is not None
    assert {len(trace.z[0]) for trace in plot.figure.data} == {120}
    assert plot.figure.data[0].hovertext[0][1].startswith("leaf5 to leaf9: 5 links")
    assert "share a cell" in plot.caption
    assert tiers_plot(*fabric(leaves=2, hosts=2, spines=2)) is None


def test_a_switch_with_very_many_hosts_is_wrapped() -> None:
    links, tiers = fabric(leaves=1, hosts=1000, spines=0)
    plot = matrix_plot(links, tiers)
    assert plot is not None
    heatmap = plot.figure.data[0]
    assert [len(row) for row in heatmap.z] == [64] * 15 + [40]
    assert heatmap.y[1] == "leaf0 +64"


def test_merged_rows_keep_the_busiest_link_and_the_caption_says_so() -> None:
    links, tiers = fabric(leaves=600, hosts=1, spines=1)
    links = [
        link(one.source, one.source_port, one.target, one.target_port, 99.0 if one.source == "leaf1" else 1.0)
        for one in links
    ]
    plot = matrix_plot(links, tiers)
    assert plot is not None
    assert "Reduced" in plot.caption
    assert [trace.z[0][0] for trace in plot.figure.data] == pytest.approx([99.0, 1.0, 99.0, 1.0])


def test_the_colour_of_a_half_line_is_that_of_its_use() -> None:
    plot = map_plot(
        [link("host0", 0, "leaf0", 0, 100.0), link("leaf0", 0, "host0", 0, 0.0)], {"host0": 0, "leaf0": 1}
    )
    assert plot is not None
    lines = [trace for trace in plot.figure.data if trace.mode == "lines"]
    assert len({trace.line.color for trace in lines}) == 2
