"""Opens the registry of a project: its store of runs, and a mirror where the environment names one."""

from tuvl.data.run_records import StoreAccess
from tuvl.settings import Settings
from tuvl.supervision.registry import RunRegistry


def open_registry(root: str, settings: Settings, *, every_run: bool = False) -> RunRegistry:
    """Return the registry of the project in a folder; nothing is connected yet.

    With `every_run` each run is on its list, not only those that are on record for reasons of their own.
    """
    return RunRegistry(StoreAccess(root, settings.database_url), every_run=every_run)
