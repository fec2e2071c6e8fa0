"""Where a database is: a data source or an URL as written → SQLAlchemy's URL with our drivers."""

from collections.abc import Mapping
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from tuvl.data.model import SourcePlan
from tuvl.errors import ConfigError
from tuvl.files import make_own_folder, real_target
from tuvl.redaction import register_secret
from tuvl.spec.data import Connection
from tuvl.spec.variables import expand

SQLITE = "sqlite+aiosqlite"
POSTGRES = "postgresql+asyncpg"
_DRIVERS = {
    "sqlite": SQLITE,
    SQLITE: SQLITE,
    "postgres": POSTGRES,
    "postgresql": POSTGRES,
    POSTGRES: POSTGRES,
}

OWN_FOLDER = ".tuvl"
"""Folder below the project's root that holds the files tuvl makes for itself."""


def own_file(root: str, name: str) -> URL:
    """Return the URL of a SQLite file of our own, its folder made when it is not there."""
    folder = Path(root) / OWN_FOLDER
    try:
        real_target(folder / name, within=Path(root))
        make_own_folder(folder)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise ConfigError(f"the folder {OWN_FOLDER!r} of the project cannot be made: {reason}") from None
    return URL.create(SQLITE, database=str(folder / name))


def source_url(source: SourcePlan, environ: Mapping[str, str]) -> URL:
    """Return the URL of a data source, its `${VAR}` read now; raises `ConfigError`."""
    if source.spec is None:
        return own_file(source.root, "data.db")
    where = f"data source {source.name!r} ({source.file}), field 'spec.connection'"
    connection = source.spec.connection
    if isinstance(connection, str):
        text = expand(connection, environ=environ, where=where)
        url = read_url(str(text), root=source.root, where=where, sqlite=source.spec.type == "sqlite")
    else:
        url = _from_parts(connection, source, environ, where)
    is_sqlite = url.drivername == SQLITE
    if is_sqlite != (source.spec.type == "sqlite"):
        raise ConfigError(f"{where}: this is no URL of a database of `type: {source.spec.type}`")
    return url


def read_url(text: str, *, root: str, where: str, sqlite: bool = False) -> URL:
    """Read the URL of a database; with `sqlite`, the path of a file will do. Relative paths count from `root`."""
    if sqlite and "://" not in text:
        return _file_url(text, root, where)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise ConfigError(f"{where}: this is no URL of a database; write e.g. postgresql://user@host/name") from None
    driver = _DRIVERS.get(url.drivername)
    if driver is None:
        raise ConfigError(f"{where}: {url.drivername!r} is no database tuvl knows; it knows sqlite and postgresql")
    if url.password:
        register_secret(str(url.password))
    if driver == SQLITE:
        return _file_url(url.database or "", root, where)
    return url.set(drivername=POSTGRES)


def _from_parts(parts: Connection, source: SourcePlan, environ: Mapping[str, str], where: str) -> URL:
    given = expand(parts.model_dump(mode="json"), environ=environ, where=where)
    values = given if isinstance(given, dict) else {}
    if source.spec is not None and source.spec.type == "sqlite":
        return _file_url(str(values.get("database") or ""), source.root, where)
    password, port, options = values.get("password"), values.get("port"), values.get("options")
    if password is not None:
        register_secret(str(password))
    try:
        number = None if port is None else int(str(port))
    except ValueError:
        raise ConfigError(f"{where}.port is not a number") from None
    return URL.create(
        POSTGRES,
        username=_text(values.get("username")),
        password=_text(password),
        host=_text(values.get("host")),
        port=number,
        database=_text(values.get("database")),
        query={key: str(value) for key, value in options.items()} if isinstance(options, dict) else {},
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _file_url(path: str, root: str, where: str) -> URL:
    if not path or path.startswith((":memory:", "file:")):
        raise ConfigError(
            f"{where}: name the file of the SQLite database, e.g. data/app.db;"
            " one in memory would be another one for every step"
        )
    return URL.create(SQLITE, database=str(Path(root) / path))
