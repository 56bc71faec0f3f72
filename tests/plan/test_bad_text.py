"""Text that is none, and more of it than anybody meant: one clear error, in little time."""

from __future__ import annotations

import cProfile
import time
from pathlib import Path
from typing import Any

import pytest
from tests.plan.examples import SMALL, errors_of, with_line, write_plan

from fabricbench import _core
from fabricbench.plan.document import nodes
from fabricbench.plan.errors import PlanError
from fabricbench.plan.estimates.cost import Limits
from fabricbench.plan.load import load_fields, load_plan

ANY = Limits(1 << 50, None)
DEEP = 3_000


def error_of(name: str, *overrides: str, limits: Limits | None = None) -> str:
    with pytest.raises(PlanError) as caught:
        load_plan(name, overrides, limits)
    return str(caught.value)


@pytest.mark.parametrize(
    ("escape", "found"),
    [
        ("\\ud800", "the character U+D800; allowed: text"),
        ("\\0", "the character U+0000; allowed: text"),
        ("\\e[31m", "the character U+001B; allowed: text"),
        ("\\U00110000", "an escape of no character; allowed: escapes up to \\U0010FFFF"),
        ("\\UFFFFFFFF", "an escape of no character; allowed: escapes up to \\U0010FFFF"),
    ],
)
def test_an_escape_that_makes_no_text_is_refused_where_it_stands(escape: str, found: str) -> None:
    error = errors_of(with_line("name: small", f'name: "{escape}"'))
    assert error.startswith("error: plan.yaml:2: ")
    assert error.endswith(found)


def test_a_key_that_is_no_text_is_refused_where_it_stands() -> None:
    error = errors_of(SMALL + '"\\ud800": 1\n')
    assert error == "error: plan.yaml:17: found the character U+D800 in a key; allowed: text"


@pytest.mark.parametrize("override", ["nam\udcff=x", "name=x\udcff", "na\0me=x", "a\x1b[31m=1"])
def test_an_override_that_is_no_text_is_refused(tmp_path: Path, override: str) -> None:
    error = error_of(write_plan(tmp_path), override)
    assert error.startswith("error: -s ")
    assert "found the character U+" in error
    assert error.isprintable()


def test_an_override_path_of_thousands_of_parts_is_refused(tmp_path: Path) -> None:
    error = error_of(write_plan(tmp_path), ".".join(["a"] * DEEP) + "=1")
    assert error.endswith("found a path of 3000 names; allowed: at most 32 names with dots between them")
    assert len(error) < 1_000
    text = SMALL + f"variants: [{{name: a, set: {{jobs.{'.'.join(['a'] * 40)}: 1}}}}]\n"
    assert "found a path of 41 names" in error_of(write_plan(tmp_path, text))


@pytest.mark.parametrize("line_end", ["\\n", "\\r", "\\x85", "\\L", "\\N"])
def test_an_error_stays_on_its_line_whatever_is_wrong(line_end: str) -> None:
    for text in (f'"a{line_end}b": 1\n', f'published_note: ["a{line_end}b"]\n', f'seed: "a{line_end}b"\n'):
        errors = errors_of(SMALL + text).splitlines()
        assert all(line.startswith(("error: plan.yaml:17: ", "hint: ")) for line in errors), errors
        assert all(map(str.isprintable, errors)), errors


def test_the_name_of_a_file_or_table_may_be_too_long(tmp_path: Path) -> None:
    error = error_of("x" * 5_000)
    assert error.endswith("found a file that cannot be read: File name too long")
    assert len(error) < 1_000
    table = "x" * 300 + ".csv"
    assert 'found no file "xxx' in error_of(write_plan(tmp_path, f"{SMALL}published: {table}\n"))


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def test_fields_that_nest_without_end_or_are_no_fields_are_refused() -> None:
    circle: dict[str, Any] = {}
    circle["a"] = circle
    wrong: list[Any] = [nested(900), nested(20_000), circle, {"a": object()}, {("a",): 1}, {"a": b"x"}]
    for fields in wrong:
        with pytest.raises(PlanError, match="<fields>"):
            load_fields(fields)


@pytest.mark.parametrize(
    "text",
    [
        "a: [" + "1, " * 300_000 + "1]",
        "\n".join(f"k{number}: v" for number in range(90_000)),
        "a0: &a0 [x, x, x, x]\n"
        + "\n".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}]" for n in range(1, 30)),
    ],
    ids=["list", "keys", "aliases"],
)
def test_more_values_than_a_plan_can_need_are_refused(text: str) -> None:
    assert "found more values than a plan can need" in errors_of(text)


def test_text_beyond_the_most_values_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def calls(values: int) -> int:
        profile = cProfile.Profile()
        errors = profile.runcall(errors_of, "a: [" + "1, " * values + "1]")
        assert "found more values than a plan can need" in errors
        return sum(entry.callcount for entry in profile.getstats())

    monkeypatch.setattr(nodes, "_NODES_MAX", 1_000)
    calls(2_000)
    assert calls(40_000) < 1.1 * calls(2_000)


def test_a_variant_costs_the_same_however_many_others_there_are(tmp_path: Path) -> None:
    def calls(count: int) -> int:
        variants = [f"  - {{name: v{n}, set: {{transport.window: {n + 2}}}}}" for n in range(count)]
        name = write_plan(tmp_path, SMALL + "variants:\n" + "\n".join(variants) + "\n")
        profile = cProfile.Profile()
        assert len(profile.runcall(load_plan, name, limits=ANY).variants) == count
        return sum(entry.callcount for entry in profile.getstats())

    calls(2)
    assert calls(200) < 4.4 * calls(50)


def test_more_variants_than_can_be_checked_are_refused(tmp_path: Path) -> None:
    variants = ", ".join(f"{{name: v{number}}}" for number in range(1_001))
    error = error_of(write_plan(tmp_path, f"{SMALL}variants: [{variants}]\n"))
    assert error.endswith(":17: variants: found 1001 items; allowed: at most 1000 items")


def test_more_ranks_than_all_trials_may_list_are_refused(tmp_path: Path) -> None:
    error = error_of(
        write_plan(tmp_path), "fabric.topology.hosts_per_leaf=50000", "jobs.0.ranks=all", "iterations=500"
    )
    assert "iterations: found 100000000 ranks in 1000 trials; allowed: at most 16777216" in error


def test_iterations_of_a_large_fabric_are_estimated_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimated: list[str] = []
    known = _core.estimate

    def estimate(spec_json: str) -> _core.Estimate:
        estimated.append(spec_json)
        return known(spec_json)

    monkeypatch.setattr(_core, "estimate", estimate)
    loaded = load_plan(write_plan(tmp_path), ["iterations=50"], ANY)
    assert len(loaded.estimates) == 100
    assert len(set(estimated)) <= 3
    assert loaded.cost.startswith("estimate: ")


def test_a_fabric_of_more_routes_than_there_is_time_for_is_refused_before_they_are_made(
    tmp_path: Path,
) -> None:
    start = time.process_time()
    error = error_of(write_plan(tmp_path), "fabric.topology.leaves=32768", limits=ANY)
    assert time.process_time() - start < 5
    first, hint = error.splitlines()
    assert (
        "fabric.topology: found a fabric of 1,073,872,896 routes between switches; allowed: 67,108,864"
        in first
    )
    assert "--force" in hint
