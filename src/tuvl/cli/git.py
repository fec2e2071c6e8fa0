"""What git knows of a folder: which files have changed since a commit, and what they held then.

git is called as a program, without a shell; hooks, file system monitors and external diffs, which settings of the
repository could name, are turned off.
"""

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tuvl.errors import UsageError

_QUIET = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
TIMEOUT_S = 60.0
CHANGED_SINCE = "--changed-since"


class GitError(UsageError):
    """git ended with a failure; the text is the first line it said."""


def commit_of(folder: Path, ref: str, *, asked: str = CHANGED_SINCE) -> str:
    """Return the digest of the commit that a name stands for; `asked` is how messages call what named it.

    Raises `UsageError` when the folder is in no repository, when there is no such commit, and when there is no git.
    """
    try:
        git(folder, "rev-parse", "--is-inside-work-tree", asked=asked)
    except GitError as error:
        hint = "it works inside a git repository"
        hint += "; leave it out to check everything" if asked == CHANGED_SINCE else ""
        raise UsageError(f"{asked}: {str(folder)!r} is in no git repository ({error}); {hint}") from None
    try:
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        found = git(folder, *words, asked=asked)
    except GitError:
        hint = "name a commit, a tag or a branch, e.g. origin/main; a shallow clone must fetch it first"
        raise UsageError(f"{asked}: there is no commit {ref!r}; {hint}") from None
    return found.decode("ascii").strip()


def top_of(folder: Path) -> Path:
    """Return the top of the work tree that a folder lies in, links followed."""
    return Path(os.path.realpath(_name(git(folder, "rev-parse", "--show-toplevel").removesuffix(b"\n"))))


def changed_paths(folder: Path, commit: str) -> tuple[str, ...]:
    """Return the files below a folder that differ from a commit, sorted: edited, deleted, new and not yet added.

    Names are relative to the folder, with `/`.
    """
    against = ("--no-ext-diff", "--no-textconv", "--no-renames", "--relative", "--name-only", "-z")
    edited = git(folder, "diff", *against, commit, "--", ".")
    new = git(folder, "ls-files", "--others", "--exclude-standard", "-z", "--", ".")
    names = {_name(raw) for output in (edited, new) for raw in output.split(b"\0") if raw}
    return tuple(sorted(names))


def passed_over(folder: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Return those of the names that git does not compare: ignored ones, and those marked to be taken as unchanged."""
    tracked = git(folder, "ls-files", "-v", "-z", "--", ".")
    marks = {_name(raw[2:]): raw[:1] for raw in tracked.split(b"\0") if raw}
    new = git(folder, "ls-files", "--others", "--exclude-standard", "-z", "--", ".")
    seen = {name for name, mark in marks.items() if mark.isupper() and mark != b"S"}
    seen |= {_name(raw) for raw in new.split(b"\0")}
    return tuple(name for name in names if name not in seen)


def old_texts(folder: Path, commit: str, names: Sequence[str]) -> Mapping[str, bytes]:
    """Return what files held in a commit, by name relative to the folder; new ones are left out."""
    asked = [name for name in names if "\n" not in name]
    if not asked:
        return {}
    lines = "".join(f"{commit}:./{name}\n" for name in asked).encode("utf-8", "surrogateescape")
    return dict(_batch(git(folder, "cat-file", "--batch", given=lines), asked))


def _batch(output: bytes, asked: Iterable[str]) -> Iterable[tuple[str, bytes]]:
    at = 0
    for name in asked:
        end = output.index(b"\n", at)
        words = output[at:end].split(b" ")
        at = end + 1
        # "<digest> <type> <size>", or "<what was asked> missing".
        if len(words) == 3 and words[1] in (b"blob", b"tree", b"commit") and words[2].isdigit():
            size = int(words[2])
            if words[1] == b"blob":
                yield name, output[at : at + size]
            at += size + 1


def git(folder: Path, *words: str, given: bytes = b"", asked: str = CHANGED_SINCE) -> bytes:
    """Run git and return what it printed; raises `GitError` when it fails, `UsageError` when it cannot be run."""
    try:
        done = subprocess.run(
            ["git", *_QUIET, *words],
            cwd=folder,
            input=given,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except FileNotFoundError:
        raise UsageError(f"{asked} needs git, which is not installed or not on the PATH") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"{asked}: git gave no answer in {TIMEOUT_S:.0f} seconds") from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitError(said[0] if said else f"`git {words[0]}` ended with {done.returncode}")
    return done.stdout


def _name(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
