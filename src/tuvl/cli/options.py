"""The words of `tuvl run`, checked one by one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast, get_args

from tuvl.cli.flags import Flags, Words
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.suggest import did_you_mean
from tuvl.wording import positive

EventsMode = Literal["pretty", "jsonl", "none"]
PlanFormat = Literal["text", "json"]
ApproveMode = Literal["prompt", "all", "none"]

_VALUES = "--approve --input --events --output --timeout --record --replay --principal --project --format"
_OF_BUNDLES = "--workflow --bundle-digest"
FLAGS = Flags(
    command="run",
    values=frozenset([*_VALUES.split(), *_OF_BUNDLES.split()]),
    repeated=frozenset({"--set", "--model"}),
    switches=frozenset({"--trace", "--dry-run", "--durable", "--detach"}),
    most_arguments=1,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the command line says, each word checked but nothing read yet."""

    workflow: str
    input: str | None
    settings: tuple[str, ...]
    models: Mapping[str, str]
    events: EventsMode
    trace: bool
    output: str | None
    timeout_s: float | None
    record: Path | None
    replay: Path | None
    principal: str | None
    approve: ApproveMode | None
    project: str | None
    dry_run: bool
    durable: bool
    format: PlanFormat
    detach: bool = False
    """Whether the run is left to workers."""
    bundle_workflow: str | None = None
    """Which workflow of a bundle."""
    bundle_digest: str | None = None
    """`sha256:…` that a bundle must have."""


def options_of(words: Words) -> RunOptions:
    """Check the words one by one; raises `UsageError`."""
    if not words.arguments:
        raise UsageError("name a workflow, e.g. `tuvl run workflows/NAME.yaml --input FILE`")
    dry_run, plan_format = words.on("--dry-run"), words.one("--format")
    if plan_format is not None and not dry_run:
        raise UsageError("--format is for --dry-run; a result is always JSON")
    record, replay = _path(words, "--record"), _path(words, "--replay")
    if record is not None and replay is not None:
        raise UsageError("--record and --replay exclude each other: a replay has nothing new to record")
    durable = words.on("--durable")
    if durable and (record or replay) is not None:
        raise UsageError("--durable does not go with --record and --replay: its own record is what a run goes on from")
    return RunOptions(
        workflow=words.arguments[0],
        input=words.one("--input"),
        settings=words.all("--set"),
        models=_models(words.all("--model")),
        events=cast(EventsMode, _choice("--events", words.one("--events") or "pretty", get_args(EventsMode))),
        trace=words.on("--trace"),
        output=words.one("--output"),
        timeout_s=_seconds("--timeout", words.one("--timeout")),
        record=record,
        replay=replay,
        principal=words.one("--principal"),
        approve=_approve(words),
        project=words.one("--project"),
        dry_run=dry_run,
        durable=durable,
        detach=_detach(words),
        format=cast(PlanFormat, _choice("--format", plan_format or "text", get_args(PlanFormat))),
        bundle_workflow=words.one("--workflow"),
        bundle_digest=words.one("--bundle-digest"),
    )


def _detach(words: Words) -> bool:
    if words.on("--detach") and words.on("--dry-run"):
        raise UsageError("--detach and --dry-run exclude each other: a dry run starts nothing")
    return words.on("--detach")


def _approve(words: Words) -> ApproveMode | None:
    text = words.one("--approve")
    return None if text is None else cast(ApproveMode, _choice("--approve", text, get_args(ApproveMode)))


def _path(words: Words, name: str) -> Path | None:
    text = words.one(name)
    return None if text is None else Path(text)


def _choice(option: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        hint = did_you_mean(value, allowed) or f"it takes {', '.join(allowed)}"
        raise UsageError(f"{option} does not take {value!r}; {hint}")
    return value


def _seconds(option: str, text: str | None) -> float | None:
    if text is None:
        return None
    value = positive(text)
    if value is None:
        raise UsageError(f"{option} takes a positive number of seconds, not {text!r}")
    return value


def _models(given: tuple[str, ...]) -> dict[str, str]:
    models: dict[str, str] = {}
    for text in given:
        name, equals, preset = text.partition("=")
        if not (name and equals and preset):
            raise UsageError(
                f"--model {text!r} is not of the form NAME=PRESET, e.g. --model default=openai/gpt-4.1-mini"
            )
        if name in models:
            raise UsageError(f"--model replaces {name!r} twice; say it once")
        models[name] = preset
    return models
