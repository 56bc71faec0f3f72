"""Whatever stands in a file, it is read or refused with one clear error."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabricbench.measured.errors import MeasuredError
from fabricbench.measured.model import Given
from fabricbench.measured.reading import FORMATS, read

SAMPLES = sorted((Path(__file__).parent / "samples").iterdir())
PIECES = st.sampled_from(
    [" ", "\n", "#", "0", "-1", "9" * 30, "1e999", "nan", "N/A", "{", "}", "[", '"', ":", "---", "\t", "\r"]
)


def reads_or_refuses(data: bytes, format_name: str | None = None) -> None:
    told: MeasuredError | None = None
    try:
        reading = read("fuzzed", data, format_name, Given(2, "all_reduce_perf"))
    except MeasuredError as error:
        told = error
    if told is not None:
        assert str(told).startswith("fuzzed")
        assert told.hint
        return
    assert reading.tables
    for table in reading.tables:
        assert table.ranks > 0
        assert all(row.size_bytes >= 0 for row in table.rows)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    reads_or_refuses(data)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=400), st.sampled_from([None, *FORMATS]))
def test_any_text_is_read_or_refused(text: str, format_name: str | None) -> None:
    reads_or_refuses(text.encode("utf-8", "surrogatepass"), format_name)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_a_damaged_output_is_read_or_refused(path: Path, data: st.DataObject) -> None:
    text = path.read_text()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 60)))
    put = data.draw(st.lists(PIECES, max_size=4).map("".join) | st.text(max_size=8))
    reads_or_refuses((text[:start] + put + text[end:]).encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_lines_in_any_order_are_read_or_refused(path: Path, data: st.DataObject) -> None:
    lines = path.read_text().split("\n")
    chosen = data.draw(st.lists(st.sampled_from(lines), max_size=25))
    reads_or_refuses("\n".join(chosen).encode())
