"""`tuvl lsp`: keeps stdout for the protocol, and serves the editor that started it."""

import logging
import os
import sys

from tuvl import __version__
from tuvl.errors import ConfigError

TERMINAL = "it speaks the Language Server Protocol, and waits for an editor; docs/editor.md says how to set one up"


def lsp_command() -> int:
    """Serve until the editor ends it; returns the exit code."""
    try:
        from tuvl.lsp.server import serve
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"tuvl lsp needs the package {error.name!r}; install it with pip install 'tuvl[lsp]'"
        ) from error
    if sys.stdin is None or sys.stdin.closed:
        return 0
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="tuvl lsp: %(levelname)s: %(message)s")
    if sys.stdin.isatty():
        sys.stderr.write(f"tuvl lsp: {TERMINAL}\n")
    # Whatever is printed by mistake goes to stderr; the protocol has stdout for itself.
    sys.stdout.flush()
    protocol = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with protocol:
        return serve(__version__, sys.stdin.buffer, protocol)
