"""Rate of data over PCIe, by generation.

Of the rate of the lanes, after their line code, data have what link-layer packets (acknowledgements, flow
control) and headers leave: 57.88 of 62.96 Gb/s, and 256 of 280 bytes. NCCL's own table, by which it searches
for graphs, is about 10 % lower.

Source: Neugebauer et al., Understanding PCIe performance for end host networking, SIGCOMM 2018.
"""

from __future__ import annotations

from typing import Final

_LANES: Final = 16
_LANE_BPS: Final = {
    1: 2_000_000_000,
    2: 4_000_000_000,
    3: 8_000_000_000 * 128 // 130,
    4: 16_000_000_000 * 128 // 130,
    5: 32_000_000_000 * 128 // 130,
    6: 64_000_000_000 * 242 // 256,
}
"""Rate of a lane by generation, after its line code [bit/s]."""
_LINK_LAYER: Final = (5_788, 6_296)
"""Part of the rate that packets with data have."""
_HEADERS: Final = (256, 280)
"""Part of such a packet that are data [bytes]."""


def data_rate_bps(generation: int) -> int:
    """Return the rate of data over 16 lanes of a generation, one way [bit/s]."""
    rate_bps = _LANE_BPS[generation] * _LANES
    for part, whole in (_LINK_LAYER, _HEADERS):
        rate_bps = rate_bps * part // whole
    return rate_bps
