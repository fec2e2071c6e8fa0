"""Compares how much checks weigh by `[tool.tuvl.severity]` of `pyproject.toml`, where `tuvl.yaml` does not say."""

from collections.abc import Iterator, Mapping

from tuvl.analysis.steps import mapping
from tuvl.analysis.surroundings import spec_of
from tuvl.changes.change import CODES, Change
from tuvl.changes.differences import weight_change
from tuvl.changes.site import Side
from tuvl.project.pyproject import TABLE, severities
from tuvl.values import printable


def compare_severities(old: Side, new: Side) -> Iterator[Change]:
    """Tell of each check that weighs more or less than it did; a table that cannot be read is told elsewhere."""
    tables = (dict(severities(old.index.tool_table)), dict(severities(new.index.tool_table)))
    configs = (_in_config(old), _in_config(new))
    for code in dict.fromkeys((*tables[0], *tables[1])):
        was, now = (config.get(code, table.get(code)) for config, table in zip(configs, tables, strict=True))
        in_both = all(code in config for config in configs)
        named = None if in_both else weight_change(was, now)
        if named is not None:
            yield _change(named, code, (was, now), old if code not in tables[1] else new, on_old=code not in tables[1])


def _in_config(side: Side) -> Mapping[str, object]:
    return mapping(mapping(spec_of(side.index.config).get("checks")).get("severity"))


def _change(named: str, code: str, shown: tuple[object, object], side: Side, *, on_old: bool) -> Change:
    table = side.index.tool_table
    place = table.locate(code).start if table is not None else None
    return Change(
        cls=CODES[named].cls,
        code=named,
        message=printable(f"{TABLE}.severity: weight of {code}"),
        before=None if shown[0] is None else printable(str(shown[0])),
        after=None if shown[1] is None else printable(str(shown[1])),
        may=None in shown,
        file="" if table is None else side.shown(table.file),
        line=1 if place is None else place.line,
        column=1 if place is None else place.column,
        path="",
        old_side=on_old,
    )
