"""Parses the rate limit on the command line of an agent, such as `10Gbps`."""

from __future__ import annotations

from fabricbench.hosts.protocol import RefusedError
from fabricbench.units import UnitError, parse_rate


def parse_rate_limit(text: str) -> int:
    """Return a rate limit [bit/s].

    Raises:
        RefusedError: The text is not a rate, or it is zero.
    """
    try:
        rate_bps = parse_rate(text)
    except UnitError as error:
        raise RefusedError("--rate-limit", error.found, error.allowed, error.hint) from error
    if rate_bps == 0:
        raise RefusedError("--rate-limit", f'"{text}"', "more than zero")
    return rate_bps
