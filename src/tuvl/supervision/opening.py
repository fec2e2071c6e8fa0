"""Opens the registry of a project: its store of runs, and a mirror where the environment names one."""

from urllib.parse import unquote, urlsplit

from tuvl.data.run_records import StoreAccess
from tuvl.errors import ConfigError
from tuvl.redaction import register_secret
from tuvl.settings import Settings
from tuvl.supervision.registry import Mirror, RunRegistry


def open_registry(root: str, settings: Settings, *, every_run: bool = False) -> RunRegistry:
    """Return the registry of the project in a folder; nothing is connected yet.

    With `every_run` each run is on its list, not only those that are on record for reasons of their own. Raises
    `ConfigError` for a Redis that this installation, or its URL, does not lead to.
    """
    access = StoreAccess(root, settings.database_url, settings.record_keys)
    return RunRegistry(access, mirror=_mirror(settings.redis_url), every_run=every_run)


def _mirror(url: str | None) -> Mirror | None:
    if url is None:
        return None
    try:
        from tuvl.supervision.redis_mirror import RedisMirror  # only where the environment names one
    except ImportError:
        raise ConfigError("TUVL_REDIS_URL is set, but 'redis' is not installed; install 'tuvl[redis]'") from None
    try:
        password = urlsplit(url).password
        if password:
            register_secret(unquote(password))
        return RedisMirror(url)
    except ValueError:
        raise ConfigError("TUVL_REDIS_URL is no URL of a Redis; write e.g. redis://localhost:6379/0") from None
