"""What `tuvl serve` may be told, with what holds otherwise."""

from tuvl.dataclass import dataclass

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8321


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Bounds and addresses of one server; durations are seconds."""

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    """0 takes a free one."""
    allow_hosts: tuple[str, ...] = ()
    """Names under which the server is reached besides those of the machine itself."""
    public_url: str | None = None
    """Where browsers reach the server, when a proxy is in front of it: `https://…` makes cookies secure ones."""
    concurrency: int = 100
    """Runs that go on at once."""
    clients: int = 2000
    """Event streams that are open at once."""
    rate: float | None = 50.0
    """Requests a second of one principal, on the average; `None` is no bound."""
    burst: int = 100
    """Requests that a principal who was idle may make at once."""
    max_body_bytes: int = 1_048_576
    body_timeout_s: float = 30.0
    """How long the body of a request may take to arrive."""
    run_timeout_s: float = 3600.0
    """Longest that a run may take which is not durable."""
    heartbeat_s: float = 15.0
    """Pause after which an event stream shows that it is alive."""
    recheck_s: float = 2.0
    """Pause between two looks at whether a client of an event stream may still watch."""
    client_patience_s: float = 30.0
    """How long a client of an event stream may take to read what it is sent."""
    grace_s: float = 30.0
    """How long runs may go on after SIGTERM before they are aborted."""
