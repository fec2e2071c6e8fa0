"""Environment → frozen `Settings`; the only reader of `os.environ`."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast, get_args

from tuvl.errors import ConfigError

DATABASE_SCHEMES = ("sqlite", "sqlite+aiosqlite", "postgres", "postgresql", "postgresql+asyncpg")
"""How the URL of a database begins."""

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]


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
    )


def environment() -> Mapping[str, str]:
    """Return the process environment, for `${VAR}` in configuration fields."""
    return os.environ


def _seconds(source: Mapping[str, str], name: str, default: float) -> float:
    text = source.get(name, "").strip()
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise ConfigError(f"{name}={text!r} is not a positive number of seconds; unset it or set e.g. {name}=300")
    return value


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
