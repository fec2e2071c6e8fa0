"""The schedules of a project, as its files say it now."""

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tuvl.analysis.cron import Cron, parse_cron
from tuvl.analysis.steps import mapping, text
from tuvl.dataclass import dataclass
from tuvl.hosting.workshop import Stamps, stamps_of
from tuvl.project.index import ProjectIndex
from tuvl.project.layout import is_prose
from tuvl.project.unseen import unseen
from tuvl.values import JsonObject

UTC_NAME = "UTC"

_SHOWN = 24
"""Characters of a workflow's name that the id of a run shows."""


_RUN_ID = re.compile(r"at-\d+-[A-Za-z0-9-]*-[0-9a-f]{16}")


def is_scheduled(run_id: str) -> bool:
    """Whether a run was started by a schedule, as its id says."""
    return _RUN_ID.fullmatch(run_id) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When runs of a workflow begin, and with what."""

    workflow: str
    expression: str
    timezone: str
    cron: Cron
    zone: ZoneInfo
    input: JsonObject

    @property
    def key(self) -> tuple[str, str]:
        """What makes it this schedule; another time or time zone makes it another one."""
        return self.workflow, f"{self.expression} {self.timezone}"

    def run_id(self, slot: float) -> str:
        """Return the id of the run of a slot, which is the same in each process."""
        told = sha256(json.dumps([self.workflow, int(slot)]).encode()).hexdigest()
        shown = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in self.workflow)[:_SHOWN]
        return f"at-{int(slot)}-{shown}-{told[:16]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What the files of a project say of schedules."""

    stamps: Stamps
    schedules: tuple[Schedule, ...]
    unusable: Mapping[str, str]
    """Workflow → why its schedule starts nothing."""
    hidden: tuple[str, ...] = ()
    """Files with a mistake that may hide a workflow, with its schedule."""


def read_schedules(root: Path, before: Read | None) -> Read:
    """Read the schedules of the enabled workflows of a project, unless no file has changed since."""
    project = ProjectIndex(root)
    paths = [str(path.relative_to(project.root)) for path in project.paths if not is_prose(path)]
    stamps = stamps_of(project.root, paths)
    if before is not None and before.stamps == stamps:
        return before
    found: list[Schedule] = []
    unusable: dict[str, str] = {}
    for name, document in project.named("Workflow").items():
        trigger = mapping(mapping(mapping(document.data).get("spec")).get("trigger"))
        expression = text(trigger.get("schedule"))
        if not expression:
            continue
        timezone = text(trigger.get("timezone")) or UTC_NAME
        try:
            schedule = Schedule(
                workflow=name,
                expression=expression,
                timezone=timezone,
                cron=parse_cron(expression),
                zone=ZoneInfo(timezone),
                input=dict(mapping(trigger.get("input"))),
            )
        except (ZoneInfoNotFoundError, OSError):
            unusable[name] = f"there is no time zone {timezone!r}"
        except ValueError as error:
            unusable[name] = f"schedule {expression!r}: {error}"
        else:
            found.append(schedule)
    hidden = tuple(each.file for each in unseen(project, "Workflow"))
    return Read(stamps=stamps, schedules=tuple(found), unusable=unusable, hidden=hidden)
