"""A process that carries out one trial after the other for a run, and writes their records.

It is told what to do over a connection, and ends as soon as the other end is gone. Only the process of the
run touches the catalog.
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

from fabricbench.runner.messages import Done, Failed, Order, Setup
from fabricbench.runner.trials import summary_of
from fabricbench.store.tables import RecordWriter, TableFolder
from fabricbench.store.writer import open_record, written

if TYPE_CHECKING:
    import pyarrow as pa

    from fabricbench.backend.protocol import Progress


def main(descriptor: int) -> None:
    """Carry out what comes in over a connection.

    Args:
        descriptor: Of the connection; the first that comes is a `Setup`, then an `Order` for each trial.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process of the run
    gc.set_threshold(200_000, 20, 100)  # see fabricbench.cli.main
    connection: Connection[Any, Any] = Connection(descriptor)
    setup = cast("Setup", connection.recv())
    orders: SimpleQueue[Order] = SimpleQueue()
    Thread(target=_listen, args=(connection, orders), daemon=True).start()
    while True:
        connection.send(answer(setup, orders.get(), connection.send))


def _listen(connection: Connection[Any, Any], orders: SimpleQueue[Order]) -> None:
    """Take orders, also while one is carried out, to notice that nobody is there any more."""
    try:
        while True:
            orders.put(connection.recv())
    except (EOFError, OSError):
        os._exit(0)
    except BaseException:  # noqa: BLE001 -- without this thread the process would wait for ever
        traceback.print_exc()
        os._exit(1)


def answer(setup: Setup, order: Order, told: Callable[[Progress], None]) -> Done | Failed:
    """Carry out a trial and write its record; `told` gets the progress."""
    try:
        record = open_record(order.folder, order.facts)
        try:
            return _carried_out(setup, order, record, told)
        except BaseException:
            record.abandon()
            raise
    except BaseException as error:  # noqa: BLE001 -- the process of the run decides
        return Failed.by(error)


def _carried_out(setup: Setup, order: Order, record: RecordWriter, told: Callable[[Progress], None]) -> Done:
    backend = setup.backend.sharing(order.cores)
    result = backend.run(order.planned, _Observer(record, told), threads=setup.threads)
    record.close()
    summary = summary_of(order.planned, result)
    rows = setup.results(order.facts, summary, TableFolder(order.folder))
    return Done(summary, dict(result.engine), written(record, rows))


@dataclass(frozen=True)
class _Observer:
    """Writes rows, and passes progress on."""

    record: RecordWriter
    told: Callable[[Progress], None]

    def progressed(self, progress: Progress) -> None:
        self.told(progress)

    def rows(self, table: str, batch: pa.RecordBatch) -> None:
        self.record.write(table, batch)
