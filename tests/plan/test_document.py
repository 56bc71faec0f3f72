"""YAML in: places are kept, and nothing that is no plan gets through as anything but a `PlanError`."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st
from tests.plan.examples import golden

from fabricbench.plan.document.document import FILE_BYTES_MAX, Document, read_file, read_text
from fabricbench.plan.errors import Place, PlanError
from fabricbench.plan.load import validate

TEXTS = golden("texts")
TOKENS = st.sampled_from(
    [
        *(
            "fabricbench: 1\n",
            "name: x\n",
            "jobs:\n",
            "a",
            "é",
            "\x00",
            "\ud7ff",
            "0x",
            "1e9",
            "~",
            "2001-12-14",
        ),
        *(":", " ", "  ", "\n", "\t", "- ", "[", "]", "{", "}", ",", "? ", "<<: ", "'", '"', "|", ">", "#"),
        *("&a ", "*a", "!x ", "!!int ", "!!float ", "!!bool ", "!!binary ", "!!set ", "!!timestamp "),
        *("%YAML 1.1\n", "---\n", "...\n"),
    ]
)


def errors_of(text: str) -> str:
    with pytest.raises(PlanError) as caught:
        read_text(text, "plan.yaml")
    return str(caught.value)


def test_every_field_knows_its_line_and_column() -> None:
    document = read_text("a: 1\nb:\n  c: [x, y]\n  d: {e: 2us}\n", "plan.yaml")
    assert document.data == {"a": 1, "b": {"c": ["x", "y"], "d": {"e": "2us"}}}
    assert document.place(("a",)) == Place("plan.yaml", 1, 4)
    assert document.place(("b",)) == Place("plan.yaml", 2, 1)
    assert document.place(("b", "c", 1)) == Place("plan.yaml", 3, 10)
    assert document.place(("b", "d", "e")) == Place("plan.yaml", 4, 10)
    assert document.place(("b", "d", "absent")) == Place("plan.yaml", 4, 3)
    assert document.place(("absent",)) == Place("plan.yaml", 1, 1)


def test_values_are_those_of_yaml_1_2() -> None:
    text = "[1, 0x10, 0o17, 1_000, 1.5, .inf, true, ~, yes, 0-7, 2us, '1', 2001-12-14, 1:30, \"\\u00e9\"]"
    expected = [
        1,
        16,
        15,
        1000,
        1.5,
        float("inf"),
        True,
        None,
        "yes",
        "0-7",
        "2us",
        "1",
        "2001-12-14",
        "1:30",
        "é",
    ]
    assert read_text(f"a: {text}", "plan.yaml").data["a"] == expected


@pytest.mark.parametrize("case", TEXTS, ids=[case["text"] for case in TEXTS])
def test_text_that_is_no_plan_is_refused_with_its_line(case: dict[str, str]) -> None:
    assert errors_of(case["text"].replace("TAB", "\t")) == case["expect"]


@pytest.mark.parametrize("text", ["a: " + "[" * 40 + "]" * 40, "[" * 20_000, "- " * 20_000])
def test_deep_nesting_is_refused_before_it_is_read(text: str) -> None:
    assert errors_of(text) == "error: plan.yaml:1: found values nested too deeply; allowed: 32 levels"


def test_aliases_of_aliases_cannot_nest_without_bound() -> None:
    lines = ["a0: &a0 [x]"] + [f"a{level}: &a{level} [*a{level - 1}]" for level in range(1, 50)]
    assert "found values nested too deeply; allowed: 32 levels" in errors_of("\n".join(lines))


def test_an_anchor_may_be_used_again() -> None:
    assert read_text("a: [&x 1, *x, &x 2, *x]", "plan.yaml").data == {"a": [1, 1, 2, 2]}


def test_a_flat_flood_of_values_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabricbench.plan.document.nodes._NODES_MAX", 100)
    expected = "error: plan.yaml:1: found more values than a plan can need; allowed: 100, keys counted"
    assert errors_of("a: [" + "1," * 300 + "&") == expected


def test_all_repeated_keys_are_named() -> None:
    assert errors_of("a: 1\na: 2\nb: {c: 1, c: 2}\n").count("error:") == 2


def test_aliases_of_aliases_cannot_fill_the_memory() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 12)]
    assert "found more values than a plan can need; allowed: 50000, aliases counted each time" in errors_of(
        "\n".join(lines)
    )


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path, reason in ((tmp_path, "Is a directory"), (tmp_path / "absent", "No such file or directory")):
        with pytest.raises(
            PlanError, match=f"^error: plan.yaml: found a file that cannot be read: {reason}$"
        ):
            read_file(path, "plan.yaml")


def test_a_file_that_is_not_utf_8_is_named_with_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_bytes(b"name: x\ntitle: \xff\n")
    with pytest.raises(
        PlanError, match=r"^error: plan.yaml:2: found the byte 0xff, which is not UTF-8; allowed: UTF-8 text$"
    ):
        read_file(path, "plan.yaml")


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_bytes(b"\xef\xbb\xbfname: x\n")
    assert read_file(path, "plan.yaml").data == {"name": "x"}


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_bytes(b"#" * (FILE_BYTES_MAX + 1))
    with pytest.raises(
        PlanError, match=r"^error: plan.yaml: found a larger file; allowed: at most 1048576 bytes$"
    ):
        read_file(path, "plan.yaml")


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=st.text(max_size=60) | st.lists(TOKENS, max_size=25).map("".join))
@example("%YAML 9.9\n---\na: 1")
@example("!!map [a]")
@example("!!seq {a: 1}")
@example("!!str {a: 1}")
@example("a: !!null x")
@example("a: 0b2")
@example("a: 0o")
@example("a: " + "9" * 5000)
@example("\ufeff")
@example("fabricbench: 1\nname: x\nfabric: {topology: {kind: [1]}}\njobs: 3\nsweep: {data_size: .nan}\n")
def test_any_text_is_a_plan_or_a_plan_error(text: str) -> None:
    with contextlib.suppress(PlanError):
        document = read_text(text, "plan.yaml")
        assert isinstance(document, Document)
        validate(document)
