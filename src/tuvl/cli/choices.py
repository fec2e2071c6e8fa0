"""What options of `tuvl run` and `tuvl validate` take, where that is one of a few words."""

from enum import StrEnum


class RunEvents(StrEnum):
    """Choices of `tuvl run --events`."""

    PRETTY = "pretty"
    JSONL = "jsonl"
    NONE = "none"


class Approve(StrEnum):
    """Choices of `tuvl run --approve`."""

    PROMPT = "prompt"
    ALL = "all"
    NONE = "none"


class TextOrJson(StrEnum):
    """Choices of `--format` where there is text for people and JSON for programs."""

    TEXT = "text"
    JSON = "json"


class ReportFormat(StrEnum):
    """Choices of `tuvl validate --format`."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    SARIF = "sarif"
    GITHUB = "github"
    JUNIT = "junit"
