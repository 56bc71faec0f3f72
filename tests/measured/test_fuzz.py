"""Whatever stands in a file, it is read or refused with one clear error, and in seconds.

`FABRICBENCH_IMPORTS=500` imports as many damaged outputs and stores each; without it there are fewer, and of
most it is only computed what would be stored.
"""

from __future__ import annotations

import gzip
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from tests.support.edited import edited

from fabricbench import importing
from fabricbench.importing import Options, Source
from fabricbench.measured.errors import MeasuredError
from fabricbench.measured.model import UserFacts
from fabricbench.measured.reading import FORMATS, read
from fabricbench.store import Workspace

SAMPLES = sorted(path for path in (Path(__file__).parent / "samples").iterdir() if path.suffix != ".md")
IMPORTS = int(os.environ.get("FABRICBENCH_IMPORTS", "60"))
STORED_EVERY = 1 if "FABRICBENCH_IMPORTS" in os.environ else 12
SECONDS_MAX = 5.0
MEBIBYTE = 1 << 20
PIECES = st.sampled_from(
    [" ", "\n", "#", "0", "-1", "9" * 30, "1e999", "nan", "N/A", "{", "}", "[", '"', ":", "---", "\t", "\r"]
)


def reads_or_refuses(data: bytes, format_name: str | None = None) -> None:
    told: MeasuredError | None = None
    try:
        reading = read("fuzzed", data, format_name, UserFacts(2, "all_reduce_perf"))
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


@contextmanager
def in_seconds() -> Iterator[None]:
    """Hold that a block keeps a processor busy for no longer than an import may take."""
    start = time.process_time()
    yield
    assert time.process_time() - start < SECONDS_MAX


def cut(lines: list[str], draw: random.Random) -> list[str]:
    """Cut the file off within a line."""
    place = draw.randrange(len(lines))
    return [*lines[:place], lines[place][: draw.randrange(len(lines[place]) + 1)]]


def lost(lines: list[str], draw: random.Random) -> list[str]:
    """Lose some lines."""
    return [line for line in lines if draw.random() > 0.1]


def doubled(lines: list[str], draw: random.Random) -> list[str]:
    """Print a part twice, as two processes do."""
    start = draw.randrange(len(lines))
    end = draw.randrange(start, len(lines)) + 1
    return lines[:end] + lines[start:]


def shuffled(lines: list[str], draw: random.Random) -> list[str]:
    """Let two lines trade places."""
    first, second = draw.randrange(len(lines)), draw.randrange(len(lines))
    changed = list(lines)
    changed[first], changed[second] = changed[second], changed[first]
    return changed


def garbled(lines: list[str], draw: random.Random) -> list[str]:
    """Change a few characters."""
    text = list("\n".join(lines) + "\n")
    for _ in range(draw.randint(1, 8)):
        text[draw.randrange(len(text))] = draw.choice('0123456789.,-+eE#"{}[]: \t\0\x1b\r\u0660\ud7ff%')
    return "".join(text).split("\n")


def rescaled(lines: list[str], draw: random.Random) -> list[str]:
    """Put another number in the place of one."""
    place = draw.randrange(len(lines))
    words = lines[place].split(" ")
    numbers = [index for index, word in enumerate(words) if word[:1].isdigit()]
    if numbers:
        other = draw.choice(["0", "1e308", "9" * 25, "-1", "nan", "inf", "1,5", "0x10", "N/A", "1.", "2"])
        words[draw.choice(numbers)] = other
    return [*lines[:place], " ".join(words), *lines[place + 1 :]]


def joined(lines: list[str], draw: random.Random) -> list[str]:
    """Append another output."""
    return lines + draw.choice(SAMPLES).read_text().split("\n")


def logged(lines: list[str], draw: random.Random) -> list[str]:
    """Let a library write in between."""
    place = draw.randrange(len(lines))
    noise = draw.choice(["gpu-a:1:2 [0] NCCL INFO x", "[gpu-a:1] warning", "Killed", "", "srun: error: x"])
    split = draw.randrange(len(lines[place]) + 1)
    return [*lines[:place], lines[place][:split] + noise, lines[place][split:], *lines[place + 1 :]]


def prefixed(lines: list[str], draw: random.Random) -> list[str]:
    """Put something before every line."""
    prefix = draw.choice(["0: ", "[1,3]<stderr>:", "2025-01-01T00:00:00Z ", "\x1b[31m", "12 ", "# ", "|"])
    return [prefix + line for line in lines]


DAMAGES: list[Callable[[list[str], random.Random], list[str]]] = [
    cut, lost, doubled, shuffled, garbled, rescaled, rescaled, joined, logged, prefixed,
]  # fmt: skip


def damaged(number: int) -> tuple[str, bytes]:
    """Return a damaged output: the same for a number, whenever and wherever."""
    draw = random.Random(number)
    path = SAMPLES[number % len(SAMPLES)]
    lines = path.read_text().split("\n")
    for damage in draw.sample(DAMAGES, draw.choice([1, 1, 1, 2, 3])):
        lines = damage(lines, draw) or [""]
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    return path.name, gzip.compress(data) if draw.random() < 0.2 else data


def test_damaged_outputs_are_imported_or_refused_and_nothing_is_half_stored(tmp_path: Path) -> None:
    store = Workspace.open(tmp_path / "workspace", create=True)
    taken = refused = 0
    for number in range(IMPORTS):
        name, data = damaged(number)
        source, before = Source(f"{number}-{name}", data), len(store.trials())
        told: MeasuredError | None = None
        with in_seconds():
            try:
                if number % STORED_EVERY:
                    importing.count_results(source, Options())
                else:
                    importing.import_results(store, source)
            except MeasuredError as error:
                told = error
        if told is None:
            taken += 1
            continue
        refused += 1
        assert str(told).startswith(f"{number}-{name}"), told
        assert told.hint
        assert len(store.trials()) == before
    assert {trial.status for trial in store.trials()} <= {"complete", "incomplete"}
    assert min(taken, refused) > IMPORTS // 10


HEAD = "#  size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
ROW = "1048576 262144 float sum -1 40.20 26.08 26.08 0 40.31 26.01 26.01 0\n"
HOSTILE: dict[str, Callable[[], bytes]] = {
    "lines": lambda: b"1\n" * (8 * MEBIBYTE),
    "one long line": lambda: b"size count type " * MEBIBYTE,
    "titles": lambda: (b"OSU MPI " + b"a v1 " * 200 + b"!\n") * 8_000,
    "latencies": lambda: (b" " + b"BW Latency Test" * 60 + b"x\n") * 17_000,
    "heads": (HEAD * 80_000).encode,
    "tables": ((HEAD + ROW) * 45_000).encode,
    "logs of many hosts": lambda: b"".join(b"h%d:1:1 [0] NCCL INFO x\n" % each for each in range(90_000)),
    "torn rows": lambda: (
        b"h1:1:1 [0] NCCL INFO x\n" + b"8 2 float sum -1" + b"0" * 200 + b"h1:1:1 [0] NCCL INFO x\n" * 45_000
    ),
    "prefixes": lambda: b"".join(b"p%dq%d nThread 1\n" % (each, each * 7) for each in range(90_000)),
    "escapes": lambda: b"\x1b]" * (4 * MEBIBYTE),
    "documents": lambda: b"{}" * (8 * MEBIBYTE),
    "depth": lambda: b'{"a":' * MEBIBYTE,
    "digits": lambda: b'{"header":{"n_ranks":' + b"9" * MEBIBYTE,
    "names without quotation marks": lambda: b"{\ntest_info: {\n" + b"a: b,\n" * 90_000,
    "a bomb": lambda: gzip.compress(b"1 \n" * (64 * MEBIBYTE // 3)),
    "half a character": lambda: b'{"header": {}, "coll_perf": "' + b"\\ud800" * MEBIBYTE + b'"}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_made_to_take_long_is_refused_soon(name: str) -> None:
    data = HOSTILE[name]()
    with in_seconds(), pytest.raises(MeasuredError) as raised:
        read("hostile", data)
    assert raised.value.hint


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    reads_or_refuses(data)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=400), st.sampled_from([None, *FORMATS]))
def test_any_text_is_read_or_refused(text: str, format_name: str | None) -> None:
    reads_or_refuses(text.encode("utf-8", "surrogatepass"), format_name)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_a_damaged_output_is_read_or_refused(path: Path, data: st.DataObject) -> None:
    reads_or_refuses(edited(data, path.read_text(), PIECES))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_lines_in_any_order_are_read_or_refused(path: Path, data: st.DataObject) -> None:
    lines = path.read_text().split("\n")
    chosen = data.draw(st.lists(st.sampled_from(lines), max_size=25))
    reads_or_refuses("\n".join(chosen).encode())
