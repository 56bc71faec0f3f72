"""The file of hosts: what it may say, and what it is told where it may not."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from fabricbench.hosts.control.hosts_file import Hosts, hosts_schema, load_hosts
from fabricbench.hosts.protocol import RefusedError
from fabricbench.plan.document.document import read_text
from fabricbench.plan.errors import PlanError

TEXT = """\
version: 1
defaults:
  settings: {verify: true, dscp: 26}
  rate_limit: 10Gbps
hosts:
  - name: h0
    agent: 10.0.0.1
    address: 10.1.0.1
  - name: h1
    agent: h1.example.net:7000
    address: 10.1.0.2
    settings: {dscp: 0}
    driver: tcp
"""


def load(tmp_path: Path, text: str) -> Hosts:
    path = tmp_path / "hosts.yaml"
    path.write_text(text)
    return load_hosts(path)


def test_hosts_take_what_they_do_not_say_from_the_defaults(tmp_path: Path) -> None:
    first, second = load(tmp_path, TEXT).hosts
    assert (first.name, first.plays, first.driver) == ("h0", (0,), "roce")
    assert str(first.entry.agent_address) == "10.0.0.1:7470"
    common = {"verify": True, "rate_limit_bps": 10_000_000_000}
    assert first.settings == {**common, "dscp": 26, "address": "10.1.0.1"}
    assert (second.driver, second.settings["dscp"], second.plays) == ("tcp", 0, (1,))


def test_the_schema_accepts_the_file_and_refuses_another() -> None:
    data = read_text(TEXT, "hosts.yaml").data
    jsonschema.validate(data, hosts_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**data, "host": []}, hosts_schema())


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("version: 1", "version: 2", "hosts.yaml:1: version: found 2; allowed: 1"),
        ("    agent: 10.0.0.1\n", "", "hosts.yaml:6: hosts.0.agent: found nothing, and it has no default"),
        ("10.0.0.1", "10.0.0.1:0", 'hosts.yaml:7: hosts.0.agent: found "10.0.0.1:0"; allowed: HOST:PORT'),
        ("10.1.0.2", "10.1.0.256", 'hosts.yaml:11: hosts.1.address: found "10.1.0.256"; allowed: an IP'),
        ("10.1.0.2", "10.1.0.1", 'hosts.yaml:11: hosts.1.address: found "10.1.0.1", which hosts.0 has'),
        (
            "driver: tcp",
            "drivers: tcp",
            "hosts.1.drivers: found an unknown key; allowed: driver",
        ),
        ("driver: tcp", "plays: [1]", "hosts.yaml:6: hosts.0: found nothing, where other hosts have `plays`"),
        ("rate_limit: 10Gbps", "tls: false", "allowed: a loopback address or a Unix socket, where"),
        ("name: h1", "name: h_1", 'hosts.yaml:9: hosts.1.name: found "h_1"'),
        ("hosts:\n", "hosts: []\nothers:\n", "hosts"),
    ],
)
def test_a_mistake_is_told_with_line_field_and_what_is_allowed(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    assert old in TEXT
    with pytest.raises(PlanError) as info:
        load(tmp_path, TEXT.replace(old, new, 1))
    assert told in str(info.value)


def test_two_hosts_cannot_play_one_host_of_the_plan(tmp_path: Path) -> None:
    text = TEXT.replace("address: 10.1.0.1", "address: 10.1.0.1\n    plays: [0, 1]")
    text = text.replace("driver: tcp", "plays: [1]")
    with pytest.raises(PlanError, match="found host 1, which h0 plays; allowed: each host of the plan once"):
        load(tmp_path, text)


def test_hosts_are_chosen_by_what_the_plan_needs(tmp_path: Path) -> None:
    hosts = load(tmp_path, TEXT)
    assert [host.name for host in hosts.for_plan([1, 1])] == ["h1"]
    with pytest.raises(RefusedError, match="ranks on host2, host3, which nobody plays"):
        hosts.for_plan(range(4))


def test_other_hosts_measure_something_else(tmp_path: Path) -> None:
    digest = load(tmp_path, TEXT).digest
    assert load(tmp_path, TEXT.replace("agent: 10.0.0.1", "agent: 10.0.0.9")).digest == digest
    assert load(tmp_path, TEXT.replace("driver: tcp", "driver: roce")).digest != digest
