"""Opens the registry of a project: its store of runs, and a mirror where the environment names one."""

from tuvl.data.run_records import StoreAccess
from tuvl.settings import Settings
from tuvl.supervision.registry import RunRegistry


def open_registry(root: str, settings: Settings) -> RunRegistry:
    """Return the registry of the project in a folder; nothing is connected yet."""
    return RunRegistry(StoreAccess(root, settings.database_url))
