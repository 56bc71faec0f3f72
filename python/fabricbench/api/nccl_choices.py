"""`nccl`: graphs, channels and choices of NCCL on servers, by size."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fabricbench.plan.jobs.library import NCCL_VERSION
from fabricbench.plan.nccl import SIZES, Question, graph_rows, size_rows

if TYPE_CHECKING:
    import polars as pl

    from fabricbench.plan.engine import NcclAnswer


class NcclChoices:
    """Graphs, channels and choices of NCCL for a number of equal servers; `nccl` returns one.

    Example:
        >>> import fabricbench as fb
        >>> choices = fb.nccl("dgx-h100", servers=2, sizes="1MB,1GB")
        >>> choices.frame.select("algorithm", "protocol", "channels").rows()
        [('Tree', 'LL128', 16), ('NVLSTree', 'Simple', 16)]
    """

    def __init__(self, answer: NcclAnswer) -> None:
        """Take an answer of NCCL's rules; `nccl` returns one."""
        self._answer = answer

    @property
    def frame(self) -> pl.DataFrame:
        """A row for each size: algorithm, protocol, channels, threads, chunk, slice, messages, estimate.

        `nccl_estimate_us` is the time by which NCCL chooses [us], not a prediction of fabricbench. `messages`
        are those that a rank sends on a connection of the first channel. Transfers (`all-to-all`,
        `send-receive`) have neither algorithm nor estimate; `concurrent_peers` are ranks to which a rank
        sends at once in an all-to-all.

        Example:
            >>> import fabricbench as fb
            >>> fb.nccl("dgx-h100", sizes="2MB").frame["nccl_estimate_us"].round(1).to_list()
            [32.7]
        """
        import polars as pl

        return pl.DataFrame(size_rows(self._answer), infer_schema_length=None)

    @property
    def graphs(self) -> pl.DataFrame:
        """A row for each graph, with the properties that NCCL logs; speeds of a channel in GB/s.

        Example:
            >>> import fabricbench as fb
            >>> graphs = fb.nccl("dgx-h100", servers=2).graphs
            >>> graphs.select("algorithm", "channels", "inter_gb_per_s").rows()
            [('Ring', 8, 48.0), ('Tree', 8, 48.0), ('NVLS', 8, 48.0)]
        """
        import polars as pl

        return pl.DataFrame(graph_rows(self._answer), infer_schema_length=None)

    @property
    def channels(self) -> dict[str, int]:
        """Numbers of channels: `collective`, `nvls`, `point_to_point`, and `per_peer` of these.

        Example:
            >>> import fabricbench as fb
            >>> fb.nccl("dgx-h100", servers=2).channels
            {'collective': 16, 'nvls': 16, 'point_to_point': 16, 'per_peer': 4}
        """
        counts = self._answer["channels"]
        return {name: counts[name] for name in ("collective", "nvls", "point_to_point", "per_peer")}

    @property
    def rings(self) -> list[list[int]]:
        """Ranks of each ring of the search, in order; channel c uses ring c mod their number.

        Example:
            >>> import fabricbench as fb
            >>> fb.nccl("dgx-h100").rings[0]
            [0, 1, 2, 3, 4, 5, 6, 7]
        """
        return self._answer["rings"]

    @property
    def ignored(self) -> list[str]:
        """Variables that change neither graphs nor choices.

        Example:
            >>> import fabricbench as fb
            >>> fb.nccl("dgx-h100", variables={"NCCL_DEBUG": "INFO"}).ignored
            ['NCCL_DEBUG']
        """
        return self._answer["ignored"]


def nccl(
    server: str | None = None,
    *,
    topology: str | Path | None = None,
    servers: int = 1,
    version: str = NCCL_VERSION,
    variables: Mapping[str, str] | None = None,
    collective: str = "all-reduce",
    sizes: str = SIZES,
) -> NcclChoices:
    """Return what NCCL chooses on servers, by the rules of a version.

    Args:
        server: A shipped server, such as "dgx-h100", or a file of one.
        topology: File with NCCL's topology of a host in place of the server's; with a server, that has the
            values that the file lacks.
        servers: Number of servers.
        version: Version of NCCL, from 2.18 to 2.31.
        variables: Environment variables of NCCL, such as {"NCCL_ALGO": "ring"}.
        collective: `all-reduce`, `all-gather`, `reduce-scatter`, `broadcast`, `reduce`, `all-to-all` or
            `send-receive`.
        sizes: Data sizes: "1MB", "1MB,16MB", or "8B:16GB", which doubles.

    Raises:
        PlanError: An input is not allowed.

    Example:
        >>> import fabricbench as fb
        >>> fb.nccl("dgx-a100", servers=2, sizes="1GB").frame["algorithm"].to_list()
        ['Ring']
    """
    path = None if topology is None else Path(topology)
    return NcclChoices(Question(server, path, servers, version, variables, collective, sizes).answer())
