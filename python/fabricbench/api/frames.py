"""Base class with the result tables of one or many trials as attributes, which are polars frames."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from fabricbench.store.record.schema import TABLES
from fabricbench.words import close_match_hint

if TYPE_CHECKING:
    import polars as pl


def check_table(name: str) -> None:
    """Check that records have a table of this name.

    Raises:
        ValueError: There is no such table.
    """
    if name not in TABLES:
        hint = close_match_hint(name, TABLES)
        raise ValueError(f'no table "{name}"; there are {", ".join(TABLES)}{hint and "; "}{hint}')


class RecordFrames(ABC):
    """Base class with the tables of a record as attributes; docs/records.md explains their columns."""

    @abstractmethod
    def frame(self, table: str) -> pl.DataFrame:
        """Return a table as a polars frame."""

    @property
    def chunks(self) -> pl.DataFrame:
        """One row for each data chunk and queue pair that carried it: times, counters, outcome.

        Example:
            >>> run.chunks.select("trial", "fct_ps").group_by("trial").max().height
            2
        """
        return self.frame("chunks")

    @property
    def channels(self) -> pl.DataFrame:
        """One row for each channel of NCCL on each server: algorithm, protocol, adapter, bytes, times.

        Example:
            >>> run.channels.height
            0
        """
        return self.frame("channels")

    @property
    def ports(self) -> pl.DataFrame:
        """One row for each port of each switch and host: counters of the whole run.

        Example:
            >>> int(run.ports["dropped_frames"].sum())
            0
        """
        return self.frame("ports")

    @property
    def priorities(self) -> pl.DataFrame:
        """One row for each port and priority that was paused, requested a pause or lost frames.

        Example:
            >>> run[0].priorities.columns[:3]
            ['node', 'port', 'priority']
        """
        return self.frame("priorities")

    @property
    def links(self) -> pl.DataFrame:
        """One row for each link and direction: frames, bytes, time busy.

        Example:
            >>> run[0].links.height
            32
        """
        return self.frame("links")

    @property
    def paths(self) -> pl.DataFrame:
        """One row for each link on the path of a queue pair.

        Example:
            >>> run[0].paths.columns[0]
            'qp'
        """
        return self.frame("paths")

    @property
    def reordering(self) -> pl.DataFrame:
        """How far out of order frames arrived, where they can overtake each other.

        Example:
            >>> run.reordering.height
            0
        """
        return self.frame("reordering")

    @property
    def series(self) -> pl.DataFrame:
        """Sampled quantities over time: queues, use of links, pauses, rates.

        Example:
            >>> "queue_bytes" in set(run[0].series["metric"])
            True
        """
        return self.frame("series")

    @property
    def connections(self) -> pl.DataFrame:
        """One row for each TCP connection: sent and lost data, round-trip times.

        Example:
            >>> run.connections.height
            0
        """
        return self.frame("connections")

    @property
    def events(self) -> pl.DataFrame:
        """Events during the run: failures, storms, changes of thresholds.

        Example:
            >>> run.events.height
            0
        """
        return self.frame("events")

    @property
    def counters(self) -> pl.DataFrame:
        """One row for each counter of each host, before and after the run; of measured trials only.

        Example:
            >>> run.counters.height
            0
        """
        return self.frame("counters")
