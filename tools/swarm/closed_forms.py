"""Computes the payload of each collective by closed form, derived from the definitions of the algorithms.

The forms are those of docs/plan.md ("Data size") and of the literature. They are implemented independently of
the engine's schedules, so that they reveal a schedule that sends too much or too little.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

PATTERNS: tuple[tuple[str, str], ...] = (
    ("all-reduce", "ring"),
    ("all-reduce", "ring-bidirectional"),
    ("all-reduce", "halving-doubling"),
    ("all-reduce", "double-binary-tree"),
    ("all-reduce", "recursive-doubling"),
    ("all-gather", "ring"),
    ("all-gather", "ring-bidirectional"),
    ("all-gather", "bruck"),
    ("all-gather", "neighbour-exchange"),
    ("reduce-scatter", "ring"),
    ("reduce-scatter", "ring-bidirectional"),
    ("all-to-all", "parallel"),
    ("all-to-all", "pairwise"),
    ("all-to-all", "bruck"),
    ("broadcast", "parallel"),
    ("broadcast", "tree"),
    ("reduce", "tree"),
    ("reduce", "rabenseifner"),
    ("gather", "parallel"),
    ("gather", "tree"),
    ("scatter", "parallel"),
    ("send-receive", "parallel"),
    ("ping-pong", "parallel"),
    ("incast", "parallel"),
    ("incast", "linear"),
    ("permutation", "parallel"),
)
"""Every collective and algorithm that a job without arrivals can have."""

_POWERS_OF_TWO = frozenset({"halving-doubling", "rabenseifner"})
_SHARED = frozenset({"all-gather", "all-to-all", "gather", "scatter"})


def is_shared(collective: str) -> bool:
    """Return whether the data size is the sum of equal parts of the ranks."""
    return collective in _SHARED


def fitting_ranks(algorithm: str, hosts: int, per_host: int) -> int:
    """Return the number of hosts to use, at most `hosts`, so that the ranks mostly suit the algorithm."""
    if algorithm in _POWERS_OF_TWO:
        hosts = 1 << (hosts.bit_length() - 1)
    elif algorithm in ("neighbour-exchange",) or (hosts * per_host % 2 and hosts > 2):
        hosts -= hosts % 2
    return max(hosts, 2)


def payload_bytes(collective: str, algorithm: str, ranks: int, size: int) -> int | None:
    """Return the payload that all ranks together send in one round; None if there is no form for it."""
    form = _FORMS.get((collective, algorithm)) or _FORMS.get((collective, "*"))
    if form is None:
        return None
    payload = form(ranks) * size
    return int(payload) if payload.denominator == 1 else None


def _popcounts(ranks: int) -> Fraction:
    """Return the number of buffers sent: each part is sent once for each bit of its distance."""
    return Fraction(sum(number.bit_count() for number in range(1, ranks)))


def _binomial(ranks: int) -> int:
    """Return the number of blocks sent up a binomial tree: each rank but the root sends its whole subtree."""
    return sum(min(rank & -rank, ranks - rank) for rank in range(1, ranks))


def _recursive_doubling(ranks: int) -> Fraction:
    """Return the number of buffers sent: ranks beyond a power of two send first and receive at the end."""
    power = ranks.bit_length() - 1
    folded = ranks - (1 << power)
    return Fraction(power * (1 << power) + 2 * folded)


def _all_but_one(ranks: int) -> Fraction:
    return Fraction(ranks - 1)


_FORMS: dict[tuple[str, str], Callable[[int], Fraction]] = {
    ("all-reduce", "recursive-doubling"): _recursive_doubling,
    ("all-reduce", "*"): lambda n: 2 * _all_but_one(n),
    ("all-gather", "*"): _all_but_one,
    ("reduce-scatter", "*"): _all_but_one,
    ("all-to-all", "bruck"): _popcounts,
    ("all-to-all", "*"): _all_but_one,
    ("broadcast", "*"): _all_but_one,
    ("reduce", "tree"): _all_but_one,
    ("gather", "parallel"): lambda n: Fraction(n - 1, n),
    ("gather", "tree"): lambda n: Fraction(_binomial(n), n),
    ("scatter", "parallel"): lambda n: Fraction(n - 1, n),
    ("send-receive", "*"): Fraction,
    ("ping-pong", "*"): Fraction,
    ("incast", "*"): _all_but_one,
    ("permutation", "*"): Fraction,
}
