"""What is wrong with a schedule: its times, its time zone, and what the runs that it starts would be given."""

from collections.abc import Iterator

from tuvl.analysis.cron import cron_problem
from tuvl.analysis.fault import Fault
from tuvl.analysis.steps import WorkflowView, items, mapping

_TRIGGER = ("spec", "trigger")


def bad_schedules(workflow: WorkflowView) -> Iterator[Fault]:
    """A schedule that never fires, a time zone that there is not, and what only a schedule has where there is none."""
    trigger = mapping(workflow.spec.get("trigger"))
    schedule, timezone = trigger.get("schedule"), trigger.get("timezone")
    problem = cron_problem(schedule) if isinstance(schedule, str) else None
    if problem is not None:
        hint = 'five fields: minute hour day month weekday, e.g. "*/15 * * * *"'
        yield Fault((*_TRIGGER, "schedule"), f"schedule {schedule!r}: {problem}", hint)
    if isinstance(timezone, str) and not _is_zone(timezone):
        hint = "a name of the IANA database, e.g. Europe/Berlin or UTC"
        yield Fault((*_TRIGGER, "timezone"), f"there is no time zone {timezone!r}", hint)
    if schedule is None:
        for name in ("timezone", "input"):
            if trigger.get(name):
                message = f"`trigger.{name}` is for runs that a schedule starts, and there is no `schedule`"
                yield Fault((*_TRIGGER, name), message, "add a `schedule`, or take it out", at_key=True)


def _is_zone(name: str) -> bool:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # few workflows name a zone

    try:
        ZoneInfo(name)
    except ZoneInfoNotFoundError:
        return not _has_zones()
    except (ValueError, OSError):  # a path, the name of a folder
        return False
    return True


def _has_zones() -> bool:
    """Tell whether there is a database of zones at all: some slim images have none, and then nothing can be said."""
    from zoneinfo import available_timezones

    return bool(available_timezones())


def unfit_schedule_input(workflow: WorkflowView) -> Iterator[Fault]:
    """What a schedule gives to its runs that `spec.input` does not let in, as far as that can be told by names."""
    trigger = mapping(workflow.spec.get("trigger"))
    if not isinstance(trigger.get("schedule"), str):
        return
    given = mapping(trigger.get("input"))
    for name in given:
        if name.startswith("_"):
            yield Fault(
                (*_TRIGGER, "input", name),
                f"key {name!r} is reserved; names with a leading '_' belong to the engine",
                "choose another name",
                at_key=True,
            )
    for name in items(mapping(workflow.spec.get("input")).get("required")):
        if isinstance(name, str) and name not in given:
            yield Fault(
                (*_TRIGGER, "schedule"),
                f"runs of this schedule cannot begin: `spec.input` requires {name!r}, and `trigger.input` has none",
                f"add {name!r} under `trigger.input`",
                at_key=True,
            )
