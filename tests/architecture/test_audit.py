"""`tools/audit.py` finds what there is to find, and never takes a source without data for a clean one."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", ROOT / "tools/audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["audit"] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


def lines(*each: Any) -> str:
    return "\n".join(map(json.dumps, each))


SUMMARY = {"type": "summary", "fields": {}}
BAD = {
    "type": "diagnostic",
    "fields": {
        "severity": "error",
        "message": "failed to satisfy license requirements",
        "graphs": [{"Krate": {"name": "r-efi", "version": "5.3.0"}}],
    },
}
UNREACHED = {
    "type": "log",
    "fields": {"level": "ERROR", "message": "failed to fetch advisory database\nmore"},
}


def cargo(status: int, *each: Any) -> CompletedProcess[str]:
    return CompletedProcess([], status, "", lines(*each))


def test_a_crate_that_the_rules_refuse_is_named(audit: ModuleType) -> None:
    found = audit.rust_rules(lambda _: cargo(4, BAD, SUMMARY))
    assert found.findings == ("r-efi 5.3.0: failed to satisfy license requirements",)
    assert audit.rust_rules(lambda _: cargo(0, SUMMARY)).findings == ()
    assert audit.rust_rules(lambda _: cargo(8, SUMMARY)).findings == ("cargo-deny ended with exit status 8",)
    assert audit.exit_status([found]) == 1


def test_rules_that_were_not_looked_at_are_no_good_answer(audit: ModuleType) -> None:
    found = audit.rust_rules(lambda _: CompletedProcess([], 101, "", "error: no such command: `deny`"))
    assert found.gap == "error: no such command: `deny`"
    assert audit.exit_status([found]) == 2


def test_without_a_network_the_newest_database_answers_with_its_date(
    audit: ModuleType, tmp_path: Path
) -> None:
    def run(command: Sequence[str]) -> CompletedProcess[str]:
        if command[0] == "git":
            return CompletedProcess([], 0, "2026-05-01\n", "")
        return cargo(1, BAD, SUMMARY) if "--disable-fetch" in command else cargo(1, UNREACHED)

    assert audit.rust_advisories(run, tmp_path).gap == "failed to fetch advisory database"
    (tmp_path / "advisory-db-1/.git").mkdir(parents=True)
    found = audit.rust_advisories(run, tmp_path)
    assert (found.gap, len(found.findings)) == ("", 1)
    assert found.data == "RustSec advisory-db of 2026-05-01, which is the newest here"


def index(known: list[Any], locked: list[Any]) -> Any:
    def run(command: Sequence[str]) -> CompletedProcess[str]:
        found = known if "--no-deps" in command else locked
        return CompletedProcess([], 0, json.dumps({"dependencies": found}), "")

    return run


VULNERABLE = {"name": "jinja2", "version": "2.4.1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.7"]}]}
CLEAN = {"name": "typer", "version": "1", "vulns": []}
SKIPPED = {"name": "typer", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("known", "locked", "findings", "gap"),
    [
        ([VULNERABLE], [CLEAN], (), ""),
        ([VULNERABLE], [CLEAN, VULNERABLE], ("jinja2 2.4.1: PYSEC-1, mended by 2.7",), ""),
        ([SKIPPED], [CLEAN], (), "it knows no vulnerability of jinja2==2.4.1, so it has no such data"),
        ([CLEAN], [CLEAN], (), "it knows no vulnerability of jinja2==2.4.1, so it has no such data"),
        ([VULNERABLE], [CLEAN, SKIPPED], (), "1 packages, such as typer: not found"),
        ([VULNERABLE], [], (), "pip-audit named no package"),
    ],
)  # fmt: skip
def test_an_index_without_data_is_no_clean_one(
    audit: ModuleType, known: list[Any], locked: list[Any], findings: tuple[str, ...], gap: str
) -> None:
    found = audit.python_advisories(index(known, locked))
    assert (found.findings, found.gap) == (findings, gap)
    assert audit.exit_status([found]) == (1 if findings else 2 if gap else 0)


def test_an_answer_says_what_data_it_has(audit: ModuleType) -> None:
    told = str(audit.Answer("crates", "RustSec of 2026-05-01", ("a 1: bad",)))
    assert told == "crates: 1 found (RustSec of 2026-05-01)\n  a 1: bad"
    assert "not looked at: no network" in str(audit.Answer("crates", "RustSec", gap="no network"))
