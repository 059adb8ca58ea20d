"""Runs the migrations, which ride in the package: a wheel migrates without a file beside it."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection


def to_head(connection: Connection) -> None:
    """The database of *connection* has the newest schema of the folder."""
    config = _config()
    config.attributes["connection"] = connection  # env.py takes it from there
    command.upgrade(config, "head")


def revisions() -> tuple[str, ...]:
    """The folder's migrations, oldest first."""
    walked = ScriptDirectory.from_config(_config()).walk_revisions()
    return tuple(script.revision for script in reversed(list(walked)))


def _config() -> Config:
    config = Config()
    folder = Path(__file__).with_name("migrations")
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    return config
