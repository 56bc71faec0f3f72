"""Outputs as users paste them, of the kinds of `independent` in other forms; causes were fixed first."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.measured.pasted.counters import COUNTED, GROWN
from tests.measured.pasted.logs import LOGS
from tests.measured.pasted.more import LAST, MORE, PATHS_OF_GPUS
from tests.measured.pasted.others import OTHERS
from tests.measured.pasted.pasted import PASTED
from tests.measured.pasted.ras import RAS
from tests.measured.pasted.settings import SETTINGS
from tests.measured.pasted.sizes import SIZED

from fabricbench.measured.switches.ports import expanded

ALL = RAS | LOGS | SETTINGS | SIZED | COUNTED | PASTED | MORE | GROWN | LAST | PATHS_OF_GPUS | OTHERS


@pytest.mark.parametrize("name", ALL)
def test_the_true_cause_of_a_kind_is_first(name: str) -> None:
    case = ALL[name]
    found = case.causes()
    names = [each.cause for each in found]
    assert names, name
    assert names[0] in case.first
    assert set(case.in_three) <= set(names[:3])
    assert not set(case.absent) & set(names)
    assert {each.cause for each in found if each.confidence == 3} <= set(case.certain)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("Ethernet0", ["Ethernet0"]),
        ("Ethernet9?", ["Ethernet9?"]),
        ("Ethernet0,Ethernet8", ["Ethernet0", "Ethernet8"]),
        ("Ethernet0, Ethernet8", ["Ethernet0", "Ethernet8"]),
        ("Ethernet{256,264}", ["Ethernet256", "Ethernet264"]),
        ("Ethernet(256|264)", ["Ethernet256", "Ethernet264"]),
        ("Ethernet{0..16..8}", ["Ethernet0", "Ethernet8", "Ethernet16"]),
        ("Eth{1,2}/{1,2}", ["Eth1/1", "Eth1/2", "Eth2/1", "Eth2/2"]),
        ("Ethernet[0-3]", ["Ethernet[0-3]"]),
        ("Ethernet25[6-8]|Ethernet264", ["Ethernet25[6-8]", "Ethernet264"]),
        ("et-0/0/(30|31):[0-1]", ["et-0/0/30:[0-1]", "et-0/0/31:[0-1]"]),
    ],
)
def test_patterns_of_ports_may_be_lists_and_ranges(pattern: str, names: Sequence[str]) -> None:
    assert expanded(pattern) == names


def test_a_range_without_end_has_an_end() -> None:
    assert len(expanded("Ethernet{0..999999}")) == 4096
