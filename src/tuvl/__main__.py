"""The entry point. It decides what is asked for before it imports anything that is not needed for that."""

import sys
from collections.abc import Sequence

from tuvl import __version__
from tuvl.cli.streams import flush_stdout, take_over, write_stdout
from tuvl.interrupted import INTERRUPTED, hush_late_threads, stop_quietly_no_more


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code. Without words they are those of the process, which is all ours."""
    if argv is not None:
        return _run(list(argv))
    try:
        stop_quietly_no_more()
        hush_late_threads()
        take_over()
        code = _run(sys.argv[1:])
        if not flush_stdout():
            code = code or 1
    except KeyboardInterrupt:
        code = INTERRUPTED
    if "tuvl.leftovers" in sys.modules:
        from tuvl.cli.ending import end_with

        end_with(code)
    return code


def _run(words: list[str]) -> int:
    if words == ["--version"]:
        return 0 if write_stdout(f"tuvl {__version__}\n") else 1
    if any("\0" in word for word in words):
        from tuvl.cli.unusable import told_of_nul

        sys.stderr.write(f"tuvl: {told_of_nul(words)}\n")
        return 2
    try:
        return _command(words)
    except OSError as error:
        if error.filename is None:
            raise
        return _unusable(error)
    except KeyboardInterrupt:
        return INTERRUPTED


def _unusable(error: OSError) -> int:
    from tuvl.cli.unusable import told_of

    said, code = told_of(error)
    sys.stderr.write(f"tuvl: {said}\n")
    return code


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
