"""Converts SONiC's buffer tables to the pools of a plan: accounts of priority groups and queues, pool sizes.

A frame counts for its priority group at its ingress and for its queue at its egress. BUFFER_PG and
BUFFER_QUEUE give either a profile, and the profile a pool. A pool of a plan has the priorities whose groups,
or queues, are in it; priorities whose profile differs from the most frequent one have a profile of their own.
Lossless groups have the limits of the plan's `pfc`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from fabricbench import units
from fabricbench.plan.devices.fragment import PLAN_HOLDS_ONE, names_text, value_text
from fabricbench.plan.devices.sonic_config.config_db import Sonic
from fabricbench.plan.devices.sonic_config.port import Entry, Port
from fabricbench.plan.devices.sonic_config.tables import PRIORITIES

INGRESS: Final = "ingress"
EGRESS: Final = "egress"
_COMPUTED_POOL: Final = "ingress_lossless_pool"
"""Pool of the lossless groups whose profile SONiC's buffer manager computes, as it names it."""
_TABLES: Final = {INGRESS: ("BUFFER_PG", "priority group"), EGRESS: ("BUFFER_QUEUE", "queue")}
_WARNINGS_MAX: Final = 8


@dataclass(frozen=True)
class Account:
    """Buffer account of the priority group, or the queue, of a traffic class at a port.

    Attributes:
        pool: Name of its pool.
        reserved_bytes: Its reserve [bytes].
        limit: Limit beyond the reserve, `alpha` or `bytes` and the value; none if only the pool limits it.
    """

    pool: str
    reserved_bytes: int = 0
    limit: tuple[str, int | str] | None = None


@dataclass
class Pools:
    """Pools of a plan, with their origin, warnings and omissions.

    Attributes:
        value: As `fabric.switch.buffer.pools`; none if the file does not define pools completely.
        origin: Fields of SONiC with their sizes.
        warnings: Differences between ports.
        left_out: Settings that the pools do not model.
    """

    value: dict[str, list[dict[str, Any]]] | None = None
    origin: str = ""
    warnings: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def pools_of(sonic: Sonic, lossless: Sequence[int]) -> Pools:
    """Return the pools of a configuration.

    Args:
        sonic: The configuration.
        lossless: Traffic classes that a plan has as lossless priorities.
    """
    return _PoolBuilder(sonic, frozenset(lossless)).pools()


def profile_of(port: Port, side: str, traffic_class: int) -> Entry | None:
    """Return the profile of the group, or of the queue, of a traffic class."""
    if side == INGRESS:
        return port.groups.get(port.group_of(traffic_class))
    return port.buffers.get(port.queue_of(traffic_class))


def ratio_of(power: int) -> int | str:
    """Return `dynamic_th` as a ratio: 2^n."""
    return 2**power if power >= 0 else str(Fraction(1, 2**-power))


def size_text(size_bytes: int) -> str | int:
    """Return a size as a plan writes it."""
    return units.format_size(size_bytes) if size_bytes else 0


def overcommitted(sonic: Sonic) -> Iterator[str]:
    """Yield the pools whose size the reserves of all ports of the file exceed.

    Reserves are the sizes of the profiles of priority groups and queues; a profile without a pool has none.
    """
    for side, (table, resource) in _TABLES.items():
        reserves: Counter[str] = Counter()
        for port in sonic.ports:
            for profile in (port.groups if side == INGRESS else port.buffers).values():
                if profile is not None and profile.get("pool"):
                    reserves[profile.get("pool")] += profile.get("size") or 0
        for name, reserved in reserves.items():
            size = sonic.tables["BUFFER_POOL"][name].get("size")
            if size is not None and reserved > size:
                yield (
                    f"BUFFER_POOL|{name}: {reserved:,} bytes are reserved for each {resource} of "
                    f"{len(sonic.ports)} ports ({table}), more than its size, {size:,}: a plan with switches "
                    "of as many ports is refused"
                )


class _PoolBuilder:
    """Builds the pools of a plan from a configuration."""

    def __init__(self, sonic: Sonic, lossless: frozenset[int]) -> None:
        self.sonic, self.lossless = sonic, lossless
        self.result = Pools()

    def pools(self) -> Pools:
        result = self.result
        accounts = {side: self._accounts(side) for side in (INGRESS, EGRESS)}
        used = {
            account.pool for side in accounts.values() for account in side.values() if account is not None
        }
        sizes = {name: self._pool(name).get("size") for name in used}
        lossless_without_pool = [
            priority for priority in self.lossless if accounts[INGRESS].get(priority) is None
        ]
        if (
            not used
            or not all(sizes.values())
            or lossless_without_pool
            or self._is_one_buffer(accounts, used)
        ):
            return Pools()  # the rules of a single buffer then convert the pools of the file
        result.value = {}
        for side in (INGRESS, EGRESS):
            pools = [self._written(side, name, accounts[side]) for name in self._names(side, accounts)]
            if pools:
                result.value[side] = pools
        names = dict.fromkeys(pool["name"] for side in result.value.values() for pool in side)
        result.origin = " + ".join(f"BUFFER_POOL|{name}: size" for name in names)
        result.left_out += self._left_out(accounts, used)
        return result

    def _is_one_buffer(self, accounts: dict[str, dict[int, Account | None]], used: set[str]) -> bool:
        """Whether it is a single shared buffer, with at most one threshold of lossy queues.

        Its pool is for both sides, or only for the ingress side; lossy groups and queues have no reserve.
        """
        pool = self._pool(next(iter(used)))
        paused = {
            account
            for account in range(PRIORITIES)
            if any(port.is_lossless(account) for port in self.sonic.ports)
        }
        groups = {number for number, account in accounts[INGRESS].items() if account is not None}
        queues = {number: account for number, account in accounts[EGRESS].items() if account is not None}
        limits = {
            account for account in queues.values() if account.limit is None or account.limit[0] == "bytes"
        }
        return (
            len(used) == 1
            and not pool.get("xoff")
            and groups <= paused
            and paused.isdisjoint(queues)
            and len(set(queues.values())) <= 1
            and not limits
            and not any(account.reserved_bytes for account in queues.values())
            and (not queues or pool.get("type") == "both")
        )

    def _names(self, side: str, accounts: dict[str, dict[int, Account | None]]) -> list[str]:
        """Return the pools of a side in the order of the file."""
        used_names = {account.pool for account in accounts[side].values() if account is not None}
        return [pool.key for pool in self.sonic.entries("BUFFER_POOL") if pool.key in used_names]

    def _pool(self, name: str) -> Entry:
        pool: Entry = self.sonic.tables["BUFFER_POOL"][name]
        return pool

    def _accounts(self, side: str) -> dict[int, Account | None]:
        """Return the account of each traffic class at most ports, and warn of ports with another."""
        others: dict[tuple[str, str], list[str]] = {}
        chosen: dict[int, Account | None] = {}
        for traffic_class in range(PRIORITIES):
            ports: dict[Account | None, list[str]] = {}
            for port in self.sonic.ports:
                ports.setdefault(self._account(port, side, traffic_class), []).append(port.name)
            usual_account = max(ports, key=lambda account: len(ports[account]), default=None)
            chosen[traffic_class] = usual_account
            for other, names in ports.items():
                if other != usual_account:
                    text = f"{_text(other)} at {names_text(names)}"
                    others.setdefault((text, _text(usual_account)), []).append(str(traffic_class))
        table, kind = _TABLES[side]
        for (text, usual_text), classes in list(others.items())[:_WARNINGS_MAX]:
            self.result.warnings.append(
                f"{table}: {kind} of priority {', '.join(classes)}: {text}; {PLAN_HOLDS_ONE}: {usual_text}"
            )
        if len(others) > _WARNINGS_MAX:
            self.result.warnings.append(
                f"{table}: {len(others) - _WARNINGS_MAX} more differences between ports"
            )
        return chosen

    def _account(self, port: Port, side: str, traffic_class: int) -> Account | None:
        profile = profile_of(port, side, traffic_class)
        is_lossless = side == INGRESS and traffic_class in self.lossless
        if profile is None:
            group = port.group_of(traffic_class)
            is_computed = side == INGRESS and group in port.groups and port.is_lossless(traffic_class)
            has_pool = _COMPUTED_POOL in self.sonic.tables.get("BUFFER_POOL", {})
            return Account(_COMPUTED_POOL) if is_computed and has_pool else None
        name = profile.get("pool")
        if name is None:
            return None
        # `pfc` has the reserve and limit of a lossless group, and warns of differences.
        return Account(name) if is_lossless else Account(name, profile.get("size") or 0, _limit(profile))

    def _written(self, side: str, name: str, accounts: dict[int, Account | None]) -> dict[str, Any]:
        """Return a pool in the form of a plan."""
        entry = self._pool(name)
        accounts_of_pool = {
            number: account
            for number, account in accounts.items()
            if account is not None and account.pool == name
        }
        pool: dict[str, Any] = {
            "name": name,
            "size": size_text(entry.get("size")),
            "priorities": list(accounts_of_pool),
        }
        limited_accounts = {
            number: account
            for number, account in accounts_of_pool.items()
            if side == EGRESS or number not in self.lossless
        }
        if side == INGRESS and len(limited_accounts) < len(accounts_of_pool):
            if entry.get("xoff"):
                pool["headroom"] = size_text(entry.get("xoff"))
            else:
                pool["headroom_in_size"] = True
        counts = Counter(limited_accounts.values())
        usual_account = counts.most_common(1)[0][0] if counts else Account(name)
        pool |= _profile(usual_account)
        profiles = [
            {
                "priorities": [
                    number for number, account in limited_accounts.items() if account == other_account
                ]
            }
            | _profile(other_account)
            for other_account in counts
            if other_account != usual_account
        ]
        if profiles:
            pool["profiles"] = profiles
        return pool

    def _left_out(self, accounts: dict[str, dict[int, Account | None]], used: set[str]) -> Iterator[str]:
        unused = [pool.key for pool in self.sonic.entries("BUFFER_POOL") if pool.key not in used]
        if unused:
            yield f"BUFFER_POOL: {', '.join(unused)}: nothing that the plan carries is in it"
        for side, (table, kind) in _TABLES.items():
            bare = [str(number) for number, account in accounts[side].items() if account is None]
            if bare:
                yield f"{table}: no pool for the {kind} of priority {', '.join(bare)}: the buffer limits it"
        yield from self._shared_groups()
        yield from self._other_lossless()
        if self._excludes_reserves():
            yield "BUFFER_POOL: size: holds reserves and headroom, as in SAI; on Spectrum they are beside it"

    def _shared_groups(self) -> Iterator[str]:
        """Yield the traffic classes that share a priority group with a profile."""
        shared: set[int] = set()
        for port in self.sonic.ports:
            groups = [port.group_of(traffic_class) for traffic_class in range(PRIORITIES)]
            for group, profile in port.groups.items():
                if groups.count(group) > 1 and profile is not None:
                    shared.add(group)
        if shared:
            numbers = ", ".join(map(str, sorted(shared)))
            yield f"TC_TO_PRIORITY_GROUP_MAP: classes that share group {numbers}: each has its own here"

    def _other_lossless(self) -> Iterator[str]:
        """Yield the lossless priorities with different profiles: a plan has one `pfc` for all."""
        for port in self.sonic.ports:
            profiles = {profile_of(port, INGRESS, priority) for priority in self.lossless}
            if len(profiles) > 1:
                numbers = ", ".join(map(str, sorted(self.lossless)))
                yield f"BUFFER_PG: profiles of priorities {numbers} that differ: all have that of data here"
                return

    def _excludes_reserves(self) -> bool:
        """Whether the pools of this kind of switch exclude all reserves."""
        return any(name in self.sonic.metadata("platform") for name in ("mlnx", "nvidia"))


def _text(account: Account | None) -> str:
    if account is None:
        return "no pool"
    limit = "none" if account.limit is None else value_text(dict((account.limit,)))
    return f"{account.pool}, {account.reserved_bytes} bytes reserved, limit {limit}"


def _profile(account: Account) -> dict[str, Any]:
    """Return the fields of a pool, or of a profile of it, that differ from their defaults."""
    fields: dict[str, Any] = {}
    if account.reserved_bytes:
        fields["reserved"] = size_text(account.reserved_bytes)
    if account.limit is not None:
        fields["limit"] = dict((account.limit,))
    return fields


def _limit(profile: Entry) -> tuple[str, int | str] | None:
    """Return a limit by SAI: 2^n times the free part of the pool, or bytes, where 0 is no limit."""
    if (power := profile.get("dynamic_th")) is not None:
        return "alpha", ratio_of(power)
    if size := profile.get("static_th"):
        return "bytes", units.format_size(size)
    return None
