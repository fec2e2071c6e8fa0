"""The entry point. It decides what is asked for before it imports anything that is not needed for that."""

import sys
from collections.abc import Sequence

from tuvl import __version__

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words == ["--version"]:
        sys.stdout.write(f"tuvl {__version__}\n")
        return 0
    try:
        return _command(words)
    except KeyboardInterrupt:
        return INTERRUPTED


def _command(words: list[str]) -> int:
    # Typer takes longer to import than these commands take to run; it still renders all help.
    from tuvl.cli.flags import wants_help

    command, rest = (words[0], words[1:]) if words else ("", [])
    if not wants_help(rest):
        if command == "validate":
            from tuvl.cli.validate import main as validate

            return validate(rest)
        if command == "explain":
            from tuvl.cli.explain import main as explain

            return explain(rest)
        if command == "run":
            from tuvl.cli.run import main as run

            return run(rest)
    from tuvl.cli.app import main as typer_app

    return typer_app(words)


if __name__ == "__main__":
    sys.exit(main())
