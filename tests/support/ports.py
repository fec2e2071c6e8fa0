"""Ports that are kept for somebody, or where nobody is."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_port(port: int = 0) -> Iterator[int]:
    """Keep a port of the loopback interface, 0 for a free one: nobody gets it but who asks for this very one.

    It is bound, and nobody listens: connections are refused until somebody does.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", port))
        yield held.getsockname()[1]
