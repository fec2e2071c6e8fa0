"""A preset or a provider string → a model, ready to be called."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import cast

from tuvl.clock import Clock
from tuvl.errors import ConfigError, UsageError
from tuvl.http.address import AddressPolicy
from tuvl.http.base_url import base_url_problem, host_and_port
from tuvl.http.client import HttpClient
from tuvl.llm.direct import DirectModel
from tuvl.llm.litellm_model import LiteLLMModel
from tuvl.llm.messages import ChatModel, Price
from tuvl.llm.pricing import preset_price, table_price
from tuvl.llm.recording import Recorder
from tuvl.llm.replay import Replay
from tuvl.llm.script import ScriptedReply, parse_script
from tuvl.llm.scripted import ScriptedModel
from tuvl.llm.settings import CallSettings
from tuvl.redaction import register_secret
from tuvl.source.loading import load_data
from tuvl.spec.llm import AgentModel, ModelSpec
from tuvl.spec.provider_settings import addresses
from tuvl.spec.variables import expand, variables
from tuvl.suggest import did_you_mean
from tuvl.values import JsonObject, JsonValue, format_path


def make_model(
    name: str,
    preset: AgentModel | None,
    *,
    environ: Mapping[str, str],
    script_dir: Path,
    http: HttpClient,
    only_hosts: tuple[str, ...] | None = None,
    clock: Clock | None = None,
    recorder: Recorder | None = None,
    replay: Replay | None = None,
    known: Iterable[str] = (),
) -> ChatModel:
    """Make the model of one run.

    Args:
        name: Name of the preset, or a provider string such as `openai/gpt-4.1`.
        preset: The preset of that name; `None` for a provider string.
        environ: Where `${VAR}` is read from.
        script_dir: Folder of the preset's file, which a scripted model's `script` is relative to.
        http: The runtime's HTTP client, for models called directly.
        only_hosts: The only hosts that addresses of the preset may lead to; `None` sets no such bound.
        clock: Time; the real one unless a test holds the hands.
        recorder: The run's recorder, when it has one.
        replay: The recording the run is played from, when it is.
        known: Names of all presets, for the hint in the error.

    Raises:
        ConfigError: The name is no preset and no provider string, a variable is missing, a script is unusable, or an
            address leads to a host that may not be called.
    """
    if preset is None and "/" not in name:
        hint = did_you_mean(name, known)
        raise ConfigError(
            f"there is no AgentModel {name!r} in the project"
            + (f"; {hint}" if hint else "; add one under llms/, or name a provider string such as 'openai/gpt-4.1'")
        )
    if replay is not None:
        return replay.model(name, price_of(name, preset))
    if preset is None:
        model: ChatModel = LiteLLMModel(CallSettings(name=name, model=name), clock=clock)
    elif preset.spec.provider == "scripted":
        model = ScriptedModel(
            _replies(preset.spec, name, script_dir),
            name=name,
            price=preset_price(preset.spec.price),
            script=preset.spec.script,
            clock=clock,
        )
    else:
        settings = _settings(name, preset.spec, environ)
        _refuse_hosts(settings, only_hosts)
        model = _live(name, preset.spec, settings, http, clock)
    return model if recorder is None else recorder.wrap(model)


def _refuse_hosts(settings: CallSettings, only_hosts: tuple[str, ...] | None) -> None:
    """Hold the addresses of a model against the project's policy, now that variables have their values."""
    if only_hosts is None:
        return
    policy = AddressPolicy(only_hosts=only_hosts)
    for path, address in addresses({"api_base": settings.api_base, "extra": settings.extra}):
        reached = host_and_port(address)
        if reached is None or not policy.permits_host(*reached):
            host = "a host that cannot be read" if reached is None else f"host {reached[0]!r}"
            raise ConfigError(
                f"AgentModel {settings.name!r}: {format_path(path)!r} leads to {host}, "
                "which is none that `policy.allow_hosts` allows"
            )


def _live(name: str, spec: ModelSpec, settings: CallSettings, http: HttpClient, clock: Clock | None) -> ChatModel:
    direct = spec.provider == "openai_compatible"
    problem = base_url_problem(settings.api_base or "") if direct or settings.api_base else None
    if problem is not None:
        raise ConfigError(f"AgentModel {name!r}: api_base {problem}")
    if direct:
        return DirectModel(settings, http, clock=clock)
    return LiteLLMModel(replace(settings, model=_provider_string(spec, settings.model)), clock=clock)


def _settings(name: str, spec: ModelSpec, environ: Mapping[str, str]) -> CallSettings:
    where = f"AgentModel {name!r}"

    def text(value: str | None, field: str) -> str | None:
        found = None if value is None else expand(value, environ=environ, where=f"{where} field {field!r}")
        return found.strip() if isinstance(found, str) else None

    key = text(spec.api_key, "api_key")
    if key:
        register_secret(key)
    for variable in variables(dict(spec.extra)):  # a header with a key, for example
        if variable.name in environ:
            register_secret(environ[variable.name])
    extra = expand(dict(spec.extra), environ=environ, where=f"{where} field 'extra'")
    return CallSettings(
        name=name,
        model=text(spec.model, "model") or "",
        api_base=text(spec.api_base, "api_base"),
        api_key=key,
        temperature=spec.temperature,
        max_tokens=spec.max_tokens,
        price=preset_price(spec.price),
        extra=cast(JsonObject, extra),
    )


def _provider_string(spec: ModelSpec, model: str) -> str:
    """Join provider and model, once: `openai` and `openai/gpt-4.1` are `openai/gpt-4.1`."""
    return model if model.startswith(f"{spec.provider}/") else f"{spec.provider}/{model}"


def price_of(name: str, preset: AgentModel | None) -> Price | None:
    """Return what a model costs that something else answers for, the way its own lane tells it."""
    if preset is None:
        return table_price(name)
    if preset.spec.price is not None or preset.spec.provider in {"scripted", "openai_compatible"}:
        return preset_price(preset.spec.price)
    return table_price(_provider_string(preset.spec, preset.spec.model or ""))


def _replies(spec: ModelSpec, name: str, script_dir: Path) -> tuple[ScriptedReply, ...]:
    if spec.script is None:
        replies = [
            item if isinstance(item, str) else item.model_dump(mode="json", by_alias=True, exclude_unset=True)
            for item in spec.replies or ()
        ]
        return parse_script(cast(JsonValue, replies), where=f"AgentModel {name!r}")
    path = script_dir / spec.script
    try:
        stat = path.stat()
    except OSError as error:
        raise ConfigError(f"AgentModel {name!r}: cannot read the script {spec.script!r}: {error.strerror}") from None
    return _read_script(path, stat.st_mtime_ns, stat.st_size, spec.script)


@lru_cache(maxsize=64)
def _read_script(path: Path, modified: int, size: int, shown: str) -> tuple[ScriptedReply, ...]:
    """Read a script, once for as long as the file stays the same."""
    try:
        return parse_script(load_data(path.read_bytes(), name=shown), where=shown)
    except (OSError, UsageError) as error:
        raise ConfigError(f"the script {shown!r} cannot be used: {error}") from None
