"""What a record of the simulator holds, for earlier records that do not say it themselves."""

from __future__ import annotations

from typing import Any, Final

_AT_ENDPOINTS: Final = ("chunks", "reordering", "connections")
_IN_THE_FABRIC: Final = ("ports", "priorities", "links", "paths", "series", "events")

OF_THE_SIMULATOR: Final[dict[str, dict[str, Any]]] = {
    **{table: {"at": "endpoint", "unmeasured": []} for table in _AT_ENDPOINTS},
    **{table: {"at": "fabric", "unmeasured": []} for table in _IN_THE_FABRIC},
}
"""Everything; as it was when catalogs got the column `observed`."""
