"""Rates of ports (`LINE_RATES`) and of PCIe slots (`PCIE`)."""

from __future__ import annotations

from typing import Final

LINE_RATES: Final = (1, 10, 25, 40, 50, 100, 200, 400, 800)
"""Rates of Ethernet and InfiniBand ports [Gb/s]."""
_GENERATIONS: Final = (3, 4, 5, 6)
_WIDTHS: Final = (1, 2, 4, 8, 16)
_GIGATRANSFERS: Final = 8
"""Rate of a lane of PCIe Gen3 [GT/s]; each later generation doubles it."""
_PCIE_EFFICIENCY: Final = 128 / 130 * 0.8
"""Headers of 24 to 28 B for each 128 B of a write leave 82 %, for each 256 B 90 % (PCI Express Base
Specification), acknowledgements and credits a little less. Assumption: 80 %, and slots from 66 to 90 %."""


def _slots() -> tuple[tuple[str, float], ...]:
    """Return the PCIe slots of equal rate by name, with their rate in one direction [GB/s]."""
    names: dict[int, list[str]] = {}
    for generation in _GENERATIONS:
        for width in _WIDTHS:
            transfers = (_GIGATRANSFERS << (generation - 3)) * width
            names.setdefault(transfers, []).append(f"Gen{generation} x{width}")
    return tuple((" or ".join(names[rate]), rate / 8 * _PCIE_EFFICIENCY) for rate in sorted(names))


PCIE: Final = _slots()
