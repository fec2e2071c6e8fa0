"""The SDK's own log lines, kept off the terminal: they quote what servers sent."""

import logging


class _NotOfTheSdk(logging.Filter):
    """Lets through what others log under a name the SDK shares with them."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "/mcp/client/" not in record.pathname.replace("\\", "/")


def hush() -> None:
    """Silence the SDK; what people need to know is in the failures of calls."""
    for name in ("mcp", "httpx2", "httpcore2", "sse_starlette"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # The client session logs as plain "client", which may be somebody else's name too.
    logging.getLogger("client").addFilter(_NotOfTheSdk())
