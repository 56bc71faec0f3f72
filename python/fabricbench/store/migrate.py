"""Migrates an older catalog. Imported only if needed, because alembic is slow to import."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

_SCRIPTS = Path(__file__).parent / "migrations"


def known_revisions() -> set[str]:
    """Return all revisions that this version can read."""
    return {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}


def upgrade(connection: Connection, revision: str = "head") -> None:
    """Migrate a catalog within the transaction of `connection`.

    Args:
        connection: Open for writing.
        revision: Target revision; the newest by default.
    """
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    return config
