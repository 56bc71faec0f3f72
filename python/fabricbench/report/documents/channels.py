"""Builds the table of NCCL's channels of a trial."""

from __future__ import annotations

from typing import Final

from fabricbench.analysis.summary.nccl_channels import ChannelResult, channel_results
from fabricbench.report.documents.numbers import number
from fabricbench.report.documents.table import Column, Row, Table
from fabricbench.store import Trial

_MAX_CHANNELS: Final = 64
_COLUMNS: Final = (
    Column("job", is_text=True),
    Column("algorithm", is_text=True),
    Column("protocol", is_text=True),
    Column("channel"),
    Column("GPU"),
    Column("sends on adapter"),
    Column("receives on"),
    Column("servers"),
    Column("network", "MB"),
    Column("scale-up", "MB"),
    Column("first byte", "us"),
    Column("last completion", "us"),
    Column("last server"),
    Column("each server", "GB/s"),
)
_CAPTION: Final = (
    "Channels of NCCL, over all servers of a job. Network and scale-up are the bytes of all servers, in all "
    "rounds, flags of LL and LL128 included. The rate is that of a server between the two times; without an "
    "adapter, of copies inside it."
)

_PS_PER_US = 1e6
_BYTES_PER_MB = 1e6


def channels_table(trial: Trial) -> Table | None:
    """Return the first channels of a finished trial, or `None` if its record has none."""
    channels = channel_results(trial.tables.batches("channels")) if trial.has("channels") else []
    if not channels:
        return None
    omitted = len(channels) - _MAX_CHANNELS
    notes = [f"and {omitted:,} more; `fabricbench export --table channels` has all, by server"]
    rows = [_row(channel) for channel in channels[:_MAX_CHANNELS]]
    return Table(_COLUMNS, rows, _CAPTION, notes=notes if omitted > 0 else ())


def _row(result: ChannelResult) -> Row:
    numbers = (result.gpu, result.send_nic, result.receive_nic)
    times = (result.start_ps, result.completed_ps)
    return Row(
        [
            result.job,
            result.algorithm,
            result.protocol,
            str(result.channel),
            *("-" if value is None else str(value) for value in numbers),
            str(result.servers),
            number(result.network_bytes / _BYTES_PER_MB, 4),
            number(result.scale_up_bytes / _BYTES_PER_MB, 4),
            *(number(None if value is None else value / _PS_PER_US, 5) for value in times),
            "-" if result.last_host is None else str(result.last_host),
            number(result.server_gb_per_s, 4),
        ]
    )
