"""Process that runs trials in sequence for a run, and writes their result tables.

It receives orders over a connection, and exits as soon as the other end is closed. Only the process of the
run accesses the catalog.
"""

from __future__ import annotations

import gc
import os
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, cast

from fabricbench.backend.protocol import Progress
from fabricbench.results.job_reports import result_rows
from fabricbench.runner.messages import Done, Failed, Order, Setup
from fabricbench.runner.trials import summary_of
from fabricbench.store.record.tables import RecordWriter, TableFolder
from fabricbench.store.record.writer import open_record, written

if TYPE_CHECKING:
    import pyarrow as pa


def main(descriptor: int) -> None:
    """Run the trials received over a connection.

    Args:
        descriptor: File descriptor of the connection, which sends a `Setup` and then an `Order` per trial.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process of the run handles Ctrl-C
    gc.set_threshold(200_000, 20, 100)  # see fabricbench.cli.main
    connection: Connection[Any, Any] = Connection(descriptor)
    setup = cast("Setup", connection.recv())
    orders: SimpleQueue[Order] = SimpleQueue()
    Thread(target=_listen, args=(connection, orders), daemon=True).start()
    while True:
        connection.send(answer(setup, orders.get(), connection.send))


def _listen(connection: Connection[Any, Any], orders: SimpleQueue[Order]) -> None:
    """Queue orders, also while a trial runs, to notice when the other end closes the connection."""
    try:
        while True:
            orders.put(connection.recv())
    except (EOFError, OSError):
        os._exit(0)
    except BaseException:  # noqa: BLE001 -- without this thread the process would wait for ever
        traceback.print_exc()
        os._exit(1)


def answer(setup: Setup, order: Order, report: Callable[[Progress], None]) -> Done | Failed:
    """Run a trial and write its record; `report` is called with the progress."""
    try:
        record = open_record(order.folder, order.facts)
        try:
            return _run_order(setup, order, record, report)
        except BaseException:
            record.abandon()
            raise
    except BaseException as error:  # noqa: BLE001 -- the process of the run decides
        return Failed.by(error)


def _run_order(setup: Setup, order: Order, record: RecordWriter, report: Callable[[Progress], None]) -> Done:
    backend = setup.backend.sharing(order.cores)
    result = backend.run(order.planned, _Observer(record, report), threads=setup.threads)
    record.close()
    summary = summary_of(order.planned, result)
    rows = result_rows(order.facts, summary, TableFolder(order.folder))
    return Done(summary, dict(result.engine), written(record, rows))


@dataclass(frozen=True)
class _Observer:
    """Writes rows to the record, and forwards progress."""

    record: RecordWriter
    report: Callable[[Progress], None]

    def progressed(self, progress: Progress) -> None:
        self.report(progress)

    def rows(self, table: str, batch: pa.RecordBatch) -> None:
        self.record.write(table, batch)
