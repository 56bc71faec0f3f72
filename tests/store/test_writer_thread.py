"""The writer thread runs calls in order, with bounded memory; its errors are raised, and it ends."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from threading import Event, Thread, active_count

import pyarrow as pa
import pytest
from tests.support.fake_backend import batch, chunk_row

from fabricbench.store.record.earlier_versions import OF_THE_SIMULATOR
from fabricbench.store.record.identity import ROWS_PER_GROUP
from fabricbench.store.record.tables import RecordWriter, TableFolder
from fabricbench.store.record.writer_thread import WAITING_MAX, WriterThread


def test_calls_are_done_in_order_and_few_wait() -> None:
    thread = WriterThread()
    done: list[int] = []
    waiting: list[int] = []
    for number in range(50):
        thread.submit(partial(done.append, number))
        waiting.append(number + 1 - len(done))
    thread.finish()
    assert done == list(range(50))
    assert max(waiting) <= WAITING_MAX


def test_an_error_comes_out_and_later_calls_are_left_out() -> None:
    thread, begin = WriterThread(), Event()
    done: list[int] = []

    def fail() -> None:
        begin.wait()
        raise OSError("the disk")

    thread.submit(fail)
    thread.submit(partial(done.append, 1))
    begin.set()
    with pytest.raises(OSError, match="the disk"):
        thread.finish()
    thread.abandon()
    assert done == []


def test_what_has_not_begun_is_left_out_once_it_is_abandoned() -> None:
    thread, begun, go = WriterThread(), Event(), Event()
    done: list[str] = []

    def slow() -> None:
        begun.set()
        go.wait()
        thread._is_stopped = True  # as `abandon` sets it while this call is carried out
        done.append("slow")

    thread.submit(slow)
    thread.submit(partial(done.append, "next"))
    begun.wait()
    go.set()
    thread.abandon()
    assert done == ["slow"]


@pytest.mark.parametrize("more", [-1, 0, 1, ROWS_PER_GROUP])
def test_every_row_is_there_in_order_around_a_row_group(tmp_path: Path, more: int) -> None:
    threads = active_count()
    count = ROWS_PER_GROUP + more
    writer = RecordWriter(tmp_path / "record", {}, OF_THE_SIMULATOR)
    rows = batch([chunk_row()] * 8192)
    index = rows.schema.get_field_index("qp")
    for first in range(0, count, 8192):
        numbers = list(range(first, min(first + 8192, count)))
        part = rows.slice(0, len(numbers))
        writer.write("chunks", part.set_column(index, "qp", pa.array(numbers)))
        assert more >= 0 or active_count() == threads  # no thread where one row group holds all
    writer.close()
    assert active_count() == threads
    assert TableFolder(tmp_path / "record").table("chunks", ["qp"])["qp"].to_pylist() == list(range(count))


def test_without_room_for_a_thread_memory_is_out_and_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    thread, threads = WriterThread(), active_count()
    monkeypatch.setattr(Thread, "start", full)
    with pytest.raises(MemoryError):
        thread.submit(lambda: None)
    thread.abandon()
    assert active_count() == threads
