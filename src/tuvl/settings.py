"""Environment → frozen `Settings`; the only reader of `os.environ`."""

import os
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Literal, cast, get_args

from tuvl.dataclass import dataclass
from tuvl.errors import ConfigError
from tuvl.wording import duration_s, positive

DATABASE_SCHEMES = ("sqlite", "sqlite+aiosqlite", "postgres", "postgresql", "postgresql+asyncpg")
"""How the URL of a database begins."""

SHORTEST_KEPT_S = 86_400.0
"""How long every run that has ended is kept: a key, or a slot of a schedule, leads to it and starts no new one."""

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JwtSettings:
    """Who may sign JSON Web Tokens for the server's API, and what they have to say."""

    jwks: str
    """URL or file of the signer's public keys."""
    issuer: str
    audience: str
    leeway_s: float = 30.0
    """How far the clocks of signer and server may be apart."""
    tenant_claim: str = "tenant"
    groups_claim: str = "groups"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment may set, prefix `TUVL_`; durations are seconds."""

    agent_tool_timeout_s: float = 300.0
    """One tool call, when neither the tool nor its step says otherwise."""
    agent_pause_max_s: float = 300.0
    """A pause that lasts longer becomes an abort."""
    agent_judge_timeout_s: float = 30.0
    """One attempt to get a judge's verdict."""
    database_url: str | None = None
    """Where runs are kept; `None` is a SQLite file of the project."""
    redis_url: str | None = None
    """Redis in which live runs are shown to processes that do not share the database; `None` is nowhere."""
    env: Literal["development", "production"] = "development"
    log_format: LogFormat | None = None
    """How structured logs are written; without it and without `log_level` there are none."""
    log_level: LogLevel | None = None
    """From which level on; `info` where only the format is set."""
    otlp_endpoint: str | None = None
    """Where spans and counters go, over OTLP; `None` is nowhere. Not one of ours: OpenTelemetry's own variable."""
    jwt: JwtSettings | None = None
    """Whose tokens the server takes besides its own; `None` is nobody's."""
    record_keys: tuple[str, ...] = field(default=(), repr=False)
    """Keys of durable records: the first one encrypts, each of them opens; without any, records are in plain text."""
    runs_kept_s: float | None = None
    """How long servers and workers keep runs that have ended; `None` is for ever."""
    server_secret: str | None = field(default=None, repr=False)
    """What the sessions of browsers are signed with; without it, each process of the server has a secret of its own."""


def load_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings, from the process environment unless another is given; a bad value is a `ConfigError`."""
    source = os.environ if environ is None else environ
    return Settings(
        agent_tool_timeout_s=_seconds(source, "TUVL_AGENT_TOOL_TIMEOUT_S", 300.0),
        agent_pause_max_s=_seconds(source, "TUVL_AGENT_PAUSE_MAX_S", 300.0),
        agent_judge_timeout_s=_seconds(source, "TUVL_AGENT_JUDGE_TIMEOUT_S", 30.0),
        database_url=_database_url(source),
        redis_url=_redis_url(source),
        env=cast(Literal["development", "production"], _choice(source, "TUVL_ENV", ("development", "production"))),
        log_format=cast(LogFormat | None, _optional(source, "TUVL_LOG_FORMAT", get_args(LogFormat))),
        log_level=cast(LogLevel | None, _optional(source, "TUVL_LOG_LEVEL", get_args(LogLevel))),
        otlp_endpoint=_otlp_endpoint(source),
        jwt=_jwt(source),
        record_keys=tuple(filter(None, (key.strip() for key in source.get("TUVL_RECORD_KEY", "").split(",")))),
        runs_kept_s=_runs_kept(source),
        server_secret=_server_secret(source),
    )


def environment() -> Mapping[str, str]:
    """Return the process environment, for `${VAR}` in configuration fields."""
    return os.environ


def _seconds(source: Mapping[str, str], name: str, default: float) -> float:
    text = source.get(name, "").strip()
    if not text:
        return default
    value = positive(text)
    if value is None:
        raise ConfigError(f"{name}={text!r} is not a positive number of seconds; unset it or set e.g. {name}=300")
    return value


def _runs_kept(source: Mapping[str, str]) -> float | None:
    name = "TUVL_RUNS_KEPT_FOR"
    text = source.get(name, "").strip()
    if not text:
        return None
    found = duration_s(text)
    if found is None or found < SHORTEST_KEPT_S:
        raise ConfigError(
            f"{name}={text!r} is not how long runs are kept, a day at least; unset it or set e.g. {name}=30d"
        )
    return found


def _database_url(source: Mapping[str, str]) -> str | None:
    name = "TUVL_DATABASE_URL"
    text = source.get(name, "").strip()
    scheme, divider, _ = text.partition("://")
    if not text or (divider and scheme in DATABASE_SCHEMES):
        return text or None
    # The value is not shown: it may hold a password.
    what = f"{scheme!r} is no database tuvl knows" if divider and scheme.isidentifier() else "this is no URL"
    raise ConfigError(
        f"{name}: {what}; unset it, or set a URL of SQLite or PostgreSQL, e.g. {name}=postgresql://user@host/name"
    )


def _redis_url(source: Mapping[str, str]) -> str | None:
    name = "TUVL_REDIS_URL"
    text = source.get(name, "").strip()
    if text and not text.startswith(("redis://", "rediss://", "unix://")):
        # The value is not shown: it may hold a password.
        raise ConfigError(f"{name} is no URL of a Redis; unset it or set e.g. {name}=redis://localhost:6379/0")
    return text or None


def _jwt(source: Mapping[str, str]) -> JwtSettings | None:
    jwks = source.get("TUVL_JWT_JWKS", "").strip()
    said = {name: source.get(f"TUVL_JWT_{name}", "").strip() for name in ("ISSUER", "AUDIENCE")}
    leeway_s = _seconds(source, "TUVL_JWT_LEEWAY_S", 30.0)  # a bad value is one without a signer, too
    if not jwks:
        if any(said.values()):
            raise ConfigError("TUVL_JWT_JWKS is not set, and other TUVL_JWT_ variables are; set the URL of the keys")
        return None
    if jwks.startswith("http://") and not _LOCAL_URL.match(jwks):
        raise ConfigError(
            "TUVL_JWT_JWKS must be an https:// URL or a file: whoever changes the keys on their way is in"
        )
    for name, value in said.items():
        if not value:
            raise ConfigError(f"TUVL_JWT_{name} is not set, and TUVL_JWT_JWKS is; tokens of others would be taken")
    return JwtSettings(
        jwks=jwks,
        issuer=said["ISSUER"],
        audience=said["AUDIENCE"],
        leeway_s=leeway_s,
        tenant_claim=source.get("TUVL_JWT_TENANT_CLAIM", "").strip() or "tenant",
        groups_claim=source.get("TUVL_JWT_GROUPS_CLAIM", "").strip() or "groups",
    )


_LOCAL_URL = re.compile(r"http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/|$)")


def _server_secret(source: Mapping[str, str]) -> str | None:
    text = source.get("TUVL_SERVER_SECRET", "").strip()
    if text and len(text) < _SHORTEST_SECRET:
        raise ConfigError(f"TUVL_SERVER_SECRET is shorter than {_SHORTEST_SECRET} characters; set a long random one")
    return text or None


_SHORTEST_SECRET = 32


def _otlp_endpoint(source: Mapping[str, str]) -> str | None:
    name = "OTEL_EXPORTER_OTLP_ENDPOINT"
    text = source.get(name, "").strip()
    if not text or source.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    if not text.lower().startswith(("http://", "https://")):
        # The value is not shown: it may hold a password.
        raise ConfigError(f"{name} is not an http(s) URL; unset it or set e.g. {name}=http://localhost:4318")
    return text


def _optional(source: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str | None:
    text = source.get(name, "").strip().lower()
    return _choice({name: text}, name, allowed) if text else None


def _choice(source: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    text = source.get(name, "").strip() or allowed[0]
    if text not in allowed:
        raise ConfigError(
            f"{name}={text!r} is not one of {', '.join(allowed)}; unset it or set e.g. {name}={allowed[0]}"
        )
    return text
