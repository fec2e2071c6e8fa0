"""Which commit a project was shipped from, and which of its files are not as they are there."""

from collections.abc import Mapping
from pathlib import Path

from tuvl.cli.git import commit_of, old_texts
from tuvl.errors import UsageError
from tuvl.shipping.provenance import Revision


def revision_of(root: Path, files: Mapping[str, bytes]) -> Revision | None:
    """Compare files, by path from the root, with the commit that is checked out; `None` outside of a repository."""
    try:
        commit = commit_of(root, "HEAD")
        committed = old_texts(root, commit, tuple(files))
    except UsageError:
        return None
    return Revision(commit=commit, changed=tuple(path for path, raw in files.items() if committed.get(path) != raw))
