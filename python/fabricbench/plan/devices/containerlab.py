"""Converts topologies of containerlab (`*.clab.yml`) to a custom fabric: switches, hosts, links.

The label `role` or the `group` of a node makes it a host or a switch, otherwise its kind: `linux` is a host,
every other kind a switch. Fields that a node lacks are those of its group, its kind or the defaults. Each
link of a host is a host of the plan, which has one port. Links of containers have no rate: it is read from
the link's `vars` or `labels` (`rate` or `speed`), and is the plan's default otherwise.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from fabricbench import units
from fabricbench.plan.devices.fragment import Fragment, Value
from fabricbench.plan.document.document import FILE_BYTES_MAX, Document, read_text
from fabricbench.plan.document.nodes import kind_name, shorten
from fabricbench.plan.errors import FieldPath, Place, PlanError, Problem
from fabricbench.plan.fields.quantities import parse_rate
from fabricbench.words import close_match_hint, counted

FORMAT: Final = "containerlab topology"
_HOST_KINDS: Final = frozenset({"linux", "host", "k8s-kind", "ext-container"})
_BRIDGES: Final = frozenset({"bridge", "ovs-bridge"})
"""Kinds that are a bridge of the lab's own host, not a container: no device of the fabric."""
_NO_NODES: Final = frozenset({"host", "mgmt-net", "macvlan"})
"""Names in place of a node at the end of a link that leaves the lab."""
_HOSTS: Final = re.compile(
    r"(hosts?|servers?|clients?|computes?|workers?|gpus?|endpoints?|nodes?)([-_.]?[0-9]+)?"
)
_SWITCHES: Final = re.compile(
    r"((super[-_ ]?|edge[-_ ]?|border[-_ ]?)?(leaf|leaves|spines?)|switch(es)?|tors?|cores?|agg(regation)?s?|"
    r"routers?|fabric|rails?)([-_.]?[0-9]+)?"
)
_RATES: Final = ("rate", "speed")
_RATE_DEFAULT: Final = "400Gbps"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_SHOWN: Final = 16
_NODE_FIELDS: Final = frozenset({"kind", "group", "labels"})
_LINK_FIELDS: Final = frozenset({"endpoints", "vars", "labels", "type", "endpoint"})


@dataclass(frozen=True)
class _Link:
    ends: tuple[str, str]
    rate: str | None


class _Lab:
    """Reads the nodes and links of a topology, and collects its problems and omissions."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = []
        self.left_out: list[str] = []
        self.bridges: set[str] = set()
        self.nodes = self._nodes()
        self.links = list(self._links()) if self.nodes else []

    def refuse(self, path: FieldPath, actual: str, allowed: str = "", hint: str = "") -> None:
        self.problems.append(self.document.problem(path, actual, allowed, hint))

    def _nodes(self) -> dict[str, bool]:
        """Return which nodes are hosts, by their names."""
        path: FieldPath = ("topology", "nodes")
        nodes_value = self.document.value(path)
        if not isinstance(nodes_value, dict) or not nodes_value:
            self.refuse(path, kind_name(nodes_value) if nodes_value else "nothing", "nodes by their names")
            return {}
        nodes = {}
        others: Counter[str] = Counter()
        for name, node in nodes_value.items():
            if node is not None and not isinstance(node, dict):
                self.refuse((*path, name), kind_name(node), "a mapping with `kind`")
                continue
            merged_node = _merged(node or {})
            others.update(set(merged_node) - _NODE_FIELDS)
            is_host = self._is_host(name, merged_node)
            if name in self.bridges:
                hint = "with `group: switch` it is a switch of the fabric"
                self.left_out.append(f"nodes.{name}: a bridge of the lab's host; {hint}")
            else:
                nodes[name] = is_host
        if others:
            self.left_out.append(f"nodes: {', '.join(sorted(others))}: how containers are run")
        return nodes

    def _is_host(self, name: str, node: Mapping[str, Any]) -> bool:
        scopes = [node, self._common("groups", node.get("group")), self._common("defaults")]
        kind = _first(scopes, "kind")
        scopes.insert(2, self._common("kinds", kind))
        role = _first([scope["labels"] for scope in scopes if isinstance(scope.get("labels"), dict)], "role")
        for word in (role, _first(scopes, "group")):
            if isinstance(word, str) and _SWITCHES.fullmatch(word.lower()):
                return False
            if isinstance(word, str) and _HOSTS.fullmatch(word.lower()):
                return True
        if not isinstance(kind, str):
            path = ("topology", "nodes", name, "kind")
            self.refuse(path, kind_name(kind), "a kind of containerlab, such as linux or sonic-vs")
        elif kind in _BRIDGES:
            self.bridges.add(name)
        return kind in _HOST_KINDS

    def _common(self, *path: Any) -> dict[str, Any]:
        """Return the settings of all nodes of a group or a kind, or of all nodes."""
        settings = self.document.value(("topology", *path)) if all(map(_is_text, path)) else None
        return _merged(settings) if isinstance(settings, dict) else {}

    def _links(self) -> Iterator[_Link]:
        path: FieldPath = ("topology", "links")
        links_value = self.document.value(path)
        if not isinstance(links_value, list) or not links_value:
            self.refuse(path, kind_name(links_value) if links_value else "nothing", "a list of links")
            return
        link_by_end: dict[str, int] = {}
        others: Counter[str] = Counter()
        for index, link in enumerate(links_value):
            link_path = (*path, index)
            if not isinstance(link, dict):
                self.refuse(link_path, kind_name(link), "a mapping with `endpoints`")
                continue
            others.update(set(link) - _LINK_FIELDS)
            ends = self._ends(link, link_path)
            if ends is None:
                continue
            for end in ends:
                if end in link_by_end:
                    actual = f"the end {shorten(end)}, which link {link_by_end[end]} has"
                    self.refuse((*link_path, "endpoints"), actual, "each end of a link once")
                link_by_end.setdefault(end, index)
            first, second = (end.partition(":")[0] for end in ends)
            if first == second:
                self.refuse((*link_path, "endpoints"), f"a link from {shorten(first)} to itself", "two nodes")
                continue
            if self.nodes[first] and self.nodes[second]:
                actual = f"a link between the hosts {shorten(first)} and {shorten(second)}"
                hint = "a node that forwards is a switch: give it `group: switch`"
                self.refuse((*link_path, "endpoints"), actual, "links with a switch", hint)
                continue
            yield _Link((first, second), self._rate(link, link_path))
        if others:
            self.left_out.append(f"links: {', '.join(sorted(others))}")

    def _ends(self, link: Mapping[str, Any], path: FieldPath) -> tuple[str, str] | None:
        """Return both ends as `node:interface`; none of a link that leaves the lab, or is malformed."""
        ends = link.get("endpoints")
        if ends is None and "endpoint" in link:
            if not isinstance(link["endpoint"], dict):
                actual = kind_name(link["endpoint"])
                self.refuse((*path, "endpoint"), actual, "`node` and `interface` of a link out of the lab")
            else:
                self._leave(path, str(link.get("type", "one end")))
            return None
        if not isinstance(ends, list) or len(ends) != 2:
            actual = f"a list of {len(ends)}" if isinstance(ends, list) else kind_name(ends)
            self.refuse((*path, "endpoints"), actual, 'two ends, such as ["leaf1:eth1", "spine1:eth1"]')
            return None
        texts = []
        for position, end_value in enumerate(ends):
            end_path, end = (*path, "endpoints", position), end_value
            if isinstance(end_value, dict) and isinstance(end_value.get("node"), str):
                end = f"{end_value['node']}:{end_value.get('interface', position)}"
            if not isinstance(end, str) or ":" not in end:
                actual = shorten(end) if isinstance(end, str) else kind_name(end)
                self.refuse(end_path, actual, 'a node and its interface, such as "leaf1:eth1"')
                return None
            node = end.partition(":")[0]
            if (node in _NO_NODES and node not in self.nodes) or node in self.bridges:
                self._leave(path, node)
                return None
            if node not in self.nodes:
                allowed = f"nodes: {', '.join(list(self.nodes)[:_SHOWN])}"
                self.refuse(
                    end_path, f"the node {shorten(node)}", allowed, close_match_hint(node, self.nodes)
                )
                return None
            texts.append(end)
        return texts[0], texts[1]

    def _leave(self, path: FieldPath, reason: str) -> None:
        self.left_out.append(f"links.{path[-1]}: a link out of the lab ({reason})")

    def _rate(self, link: Mapping[str, Any], path: FieldPath) -> str | None:
        for section in ("vars", "labels"):
            values = link.get(section)
            if not isinstance(values, dict):
                continue
            for name in _RATES:
                if values.get(name) is not None:
                    try:
                        return units.format_rate(parse_rate(values[name]))
                    except units.UnitError as error:
                        self.refuse((*path, section, name), error.found, error.allowed, error.hint)
        return None


def _merged(mapping: dict[str, Any]) -> dict[str, Any]:
    """Return a mapping merged with its parents by `<<`; it overrides them, and the first overrides others."""
    parents = mapping.get("<<")
    merged: dict[str, Any] = {}
    for parent in reversed(parents if isinstance(parents, list) else [parents]):
        merged |= _merged(parent) if isinstance(parent, dict) else {}
    return merged | {name: value for name, value in mapping.items() if name != "<<"}


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _first(scopes: Sequence[Mapping[str, Any]], name: str) -> Any:
    return next((scope[name] for scope in scopes if scope.get(name) is not None), None)


def fragment_of(text: str, source: str) -> Fragment:
    """Return the fabric of a topology file.

    Args:
        text: The YAML.
        source: Its name in errors.

    Raises:
        PlanError: With everything in it that is no topology of hosts and switches.
    """
    lab = _Lab(_document(text, source))
    document = lab.document
    hosts_of: dict[str, list[str]] = {name: [] for name, is_host in lab.nodes.items() if not is_host}
    switch_links: Counter[tuple[str, str, str | None]] = Counter()
    host_rates: Counter[str | None] = Counter()
    for link in lab.links:
        first, second = link.ends
        if lab.nodes[first] or lab.nodes[second]:
            host, switch = (first, second) if lab.nodes[first] else (second, first)
            hosts_of[switch].append(host)
            host_rates[link.rate] += 1
        else:
            switch_links[(*sorted(link.ends), link.rate)] += 1  # type: ignore[index]
    if not lab.problems and not host_rates:
        hint = "a host is a node of kind linux, or one with `group: host`"
        lab.refuse(("topology", "nodes"), "no host with a link", "hosts and switches", hint)
    names = _plan_names(hosts_of, lab)
    if lab.problems:
        raise PlanError(lab.problems)
    host_rate = host_rates.most_common(1)[0][0]
    topology: dict[str, Any] = {
        "kind": "custom",
        "host_link": host_rate or _RATE_DEFAULT,
        "switches": [
            {"name": names[name], "hosts": len(hosts)} if hosts else names[name]
            for name, hosts in hosts_of.items()
        ],
    }
    if switch_links:
        topology["links"] = [_link(names, key, count) for key, count in switch_links.items()]
    warnings = []
    if len(host_rates) > 1:
        rate_counts = ", ".join(
            f"{rate or 'none'} of {counted(count, 'link')}" for rate, count in host_rates.items()
        )
        warnings.append(
            f"links of hosts differ: {rate_counts}; the plan has one rate for all: {topology['host_link']}"
        )
    unrated = host_rates[None] + sum(count for key, count in switch_links.items() if key[2] is None)
    if unrated:
        warnings.append(
            f"{counted(unrated, 'link')} without a rate (`vars: {{rate: 100Gbps}}`): {_RATE_DEFAULT} here"
        )
    counts = (counted(sum(lab.nodes.values()), "host"), counted(len(lab.links), "link"))
    read = f"switches: {len(hosts_of)}, {', '.join(counts)}"
    values = tuple(Value(f"fabric.topology.{name}", value, "topology") for name, value in topology.items())
    left_out = (*lab.left_out, *_left_out(document))
    return Fragment(
        FORMAT, document.source, (read, *_host_numbers(hosts_of)), values, tuple(warnings), left_out
    )


def _document(text: str, source: str) -> Document:
    if len(text) > FILE_BYTES_MAX:
        raise PlanError([Problem(Place(source), "", "a larger file", f"at most {FILE_BYTES_MAX} bytes")])
    try:
        return read_text(text, source)
    except PlanError as error:  # of the top-level value, worded for plans
        allowed = "a mapping with `topology`, as containerlab has it"
        raise PlanError(
            replace(problem, allowed=allowed, hint="") if "fabricbench plans" in problem.hint else problem
            for problem in error.problems
        ) from None


def _plan_names(hosts_of: Mapping[str, object], lab: _Lab) -> dict[str, str]:
    """Return the name of each switch in a plan: letters, digits, `.`, `_` and `-`, and not that of a host."""
    names: dict[str, str] = {}
    for name in hosts_of:
        plan_name = re.sub(r"[^A-Za-z0-9._-]", "-", name)[:80].lstrip("._-") or "switch"
        if re.fullmatch(r"host[0-9]+", plan_name):
            plan_name = f"switch-{plan_name}"
        if plan_name in names.values() or not _NAME.fullmatch(plan_name):
            lab.refuse(
                ("topology", "nodes", name), f"the name {shorten(name)}", "names of their own in a plan"
            )
        names[name] = plan_name
    return names


def _link(names: Mapping[str, str], key: tuple[str, str, str | None], count: int) -> dict[str, Any]:
    first, second, rate = key
    link: dict[str, Any] = {"between": [names[first], names[second]]}
    if count > 1:
        link["count"] = count
    return link | {"link": rate or _RATE_DEFAULT}


def _host_numbers(hosts_of: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield the nodes of the hosts of the plan, as text."""
    number, host_texts = 0, []
    for switch, hosts in hosts_of.items():
        for host in hosts:
            host_texts.append(f"{number} {host} at {switch}")
            number += 1
    shown = ", ".join(host_texts[: 4 * _SHOWN]) + (" ..." if len(host_texts) > 4 * _SHOWN else "")
    yield f"hosts of the plan: {shown}"


def _left_out(document: Document) -> Iterator[str]:
    names = sorted(set(document.data) - {"name", "topology"})
    topology = document.value(("topology",))
    inside = (
        sorted(set(topology) - {"nodes", "links", "groups", "defaults"}) if isinstance(topology, dict) else []
    )
    names += [f"topology.{name}" for name in inside]
    if names:
        yield f"{', '.join(names)}: how containers are run"
