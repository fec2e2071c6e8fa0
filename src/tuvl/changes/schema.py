"""Two JSON Schemas (2020-12): whether the new one takes less, more, or nobody can tell, and where.

Sound in one direction: where a value passes the old schema and not the new one, something is said, at the least that
it may be. What has the same words is the same; what cannot be decided is called so.
"""

from dataclasses import field

from tuvl.analysis.steps import items, mapping
from tuvl.changes.schema_ask import refused
from tuvl.changes.schema_change import Direction, SchemaChange
from tuvl.changes.schema_place import (
    NOTES,
    NOTES_AND_VALUES,
    READ,
    At,
    below,
    both_take,
    is_plain,
    is_union,
    item_of,
    listed,
    names_in,
    rest_of,
    takes,
    words,
)
from tuvl.changes.schema_same import Sameness, Simplified
from tuvl.changes.schema_trials import Trials
from tuvl.changes.schema_values import Bound, allowed, bounds_of, types_in, without
from tuvl.dataclass import dataclass
from tuvl.values import canonical

__all__ = ["Direction", "SchemaChange", "schema_changes"]

MOST = 5_000
"""Pairs of schemas after which the rest is said to be undecided."""
DEEPEST = 60
"""Schemas inside each other that are followed."""


_MOST_TRIED = 100
"""Pairs of alternatives that are tried against each other."""


def schema_changes(old: object, new: object) -> list[SchemaChange]:
    """Compare two schemas; no schema at all is one that takes everything."""
    roots = (old, new)
    comparison = _Comparison(roots, Trials(MOST), Simplified(), Sameness(roots))
    comparison.compare(At(old, (), ""), At(new, (), ""))
    return comparison.found


@dataclass(slots=True)
class _Comparison:
    roots: tuple[object, object]
    trials: Trials
    plain_words: Simplified
    same: Sameness
    found: list[SchemaChange] = field(default_factory=list)
    seen: set[tuple[int, int]] = field(default_factory=set)
    depth: int = 0
    gave_up: bool = False
    plain: tuple[bool, bool] = (True, True)
    """Whether each schema says all of a value at one place, so that what it says of it is certain."""

    def compare(self, old: At, new: At) -> None:
        """Say how one schema differs from another."""
        if self.same.is_same(old.schema, new.schema):
            return
        old, new = (self.plain_words.of(at, root) for at, root in zip((old, new), self.roots, strict=True))
        pair = (id(old.schema), id(new.schema))
        if isinstance(old.schema, dict) and isinstance(new.schema, dict):
            if pair in self.seen:
                return
            self.seen.add(pair)
        self.trials.left -= 1
        if self.trials.left <= 0 or self.depth >= DEEPEST:
            if not self.gave_up:
                self._say(Direction.UNDECIDED, "too much to compare", old, new)
            self.gave_up = True
            return
        self.depth += 1
        around = self.plain
        self.plain = (around[0] and is_plain(old.schema), around[1] and is_plain(new.schema))
        self._compare(old, new)
        self.plain = around
        self.depth -= 1

    def _compare(self, old: At, new: At) -> None:
        if self.same.is_same(old.schema, new.schema):
            return
        self._notes(old, new)
        if old.never or new.never:
            self._with_nothing(old, new)
        elif is_union(old.schema) or is_union(new.schema):
            self._unions(old, new)
        elif not self._values(old, new):
            self._bounds(old, new)
            self._texts(old, new)
            self._objects(old, new)
            self._lists(old, new)
            self._combined(old, new)
            self._others(old, new)

    def _say(
        self,
        direction: Direction,
        message: str,
        old: At,
        new: At,
        before: object = None,
        after: object = None,
        *,
        may: bool = False,
    ) -> None:
        # What was taken is certain of a plain old schema only, and what is taken of a plain new one.
        sure = {Direction.TIGHTER: self.plain[0], Direction.ADDED: True, Direction.LOOSER: self.plain[1]}
        self.found.append(
            SchemaChange(
                direction=direction,
                message=message,
                old_path=old.path,
                new_path=new.path,
                where=new.where,
                before=before,
                after=after,
                may=may or not sure.get(direction, True),
            )
        )

    def _notes(self, old: At, new: At) -> None:
        for name in NOTES:
            before, after = old.table.get(name), new.table.get(name)
            if canonical(before) != canonical(after):
                self._say(Direction.NOTE, f"`{name}`", old.at(name), new.at(name), before, after)

    def _with_nothing(self, old: At, new: At) -> None:
        if old.never and not new.never:
            self._say(Direction.LOOSER, "values are taken where none were", old, new)
        elif new.never and not old.never:
            self._say(Direction.TIGHTER, "no value is taken any more", old, new)

    def _values(self, old: At, new: At) -> bool:
        """Say which values are taken; returns whether that is all that is to be said."""
        one, other = allowed(old.table), allowed(new.table)
        if one is None and other is None:
            self._types(old, new)
            return False
        key = "const" if "const" in new.table else "enum"
        lost = self._refused(one, new)
        won = self._refused(other, old)
        if lost is None or won is None:
            if one is not None and other is not None and not without(one, other) and not without(other, one):
                return False
            self._say(Direction.UNDECIDED, "the values that are taken", old.at("enum"), new.at(key), one, other)
            return True
        if lost:
            self._say(Direction.TIGHTER, f"no longer takes {listed(lost)}", old.at("enum"), new.at(key), one, other)
        elif one is None:
            self._say(Direction.TIGHTER, "takes certain values only", old, new.at(key), None, other)
        if won:
            self._say(Direction.LOOSER, f"takes {listed(won)} too", old.at("enum"), new.at(key), one, other)
        elif other is None:
            self._say(Direction.LOOSER, "takes other values too", old.at("enum"), new, one, None)
        return True

    def _refused(self, values: list[object] | None, at: At) -> list[object] | None:
        """The values of a list that a schema refuses; `None` where it cannot be asked."""
        if values is None:
            return []
        listed_there = allowed(at.table)
        if listed_there is not None and is_plain(at.schema) and not at.table.keys() - NOTES_AND_VALUES:
            return without(values, listed_there)
        return refused(values, at.schema)

    def _types(self, old: At, new: At) -> None:
        before, after = types_in(old.table), types_in(new.table)
        gone, come = before - after, after - before
        # Every whole number is a number.
        if "number" in after:
            gone -= {"integer"}
        if "number" in before:
            come -= {"integer"}
        shown = (old.table.get("type"), new.table.get("type"))
        if gone:
            self._say(Direction.TIGHTER, f"no longer takes {words(gone)}", old.at("type"), new.at("type"), *shown)
        if come:
            self._say(Direction.LOOSER, f"takes {words(come)} too", old.at("type"), new.at("type"), *shown)

    def _bounds(self, old: At, new: At) -> None:
        common = types_in(old.table) & types_in(new.table) or types_in(new.table)
        for bound in bounds_of(old.table, new.table, common):
            self._bound(bound, old, new)

    def _bound(self, bound: Bound, old: At, new: At) -> None:
        direction = Direction.TIGHTER if bound.tighter else Direction.LOOSER
        if bound.undecided:
            direction = Direction.UNDECIDED
        self._say(direction, f"`{bound.keyword}`", old.at(bound.keyword), new.at(bound.keyword), *bound.shown)

    def _texts(self, old: At, new: At) -> None:
        if not both_take("string", old, new):
            return
        for keyword in ("pattern", "format"):
            before, after = old.table.get(keyword), new.table.get(keyword)
            if before == after:
                continue
            direction = Direction.UNDECIDED
            if keyword == "pattern":
                direction = (
                    Direction.TIGHTER if before is None else Direction.LOOSER if after is None else Direction.UNDECIDED
                )
            self._say(direction, f"`{keyword}`", old.at(keyword), new.at(keyword), before, after)

    # ---- objects -----------------------------------------------------------------------------------------------

    def _objects(self, old: At, new: At) -> None:
        if not both_take("object", old, new):
            return
        self._required(old, new)
        before, after = mapping(old.table.get("properties")), mapping(new.table.get("properties"))
        for name in dict.fromkeys((*before, *after)):
            self._property(name, old, new)
        rest_old, rest_new = rest_of(old), rest_of(new)
        if not self.same.is_same(rest_old.schema, rest_new.schema):
            if rest_new.never and not rest_old.never:
                self._say(Direction.TIGHTER, "unknown properties are refused", old, rest_new)
            elif rest_old.never and not rest_new.never:
                self._say(Direction.LOOSER, "unknown properties are taken", rest_old, new)
            else:
                self.compare(rest_old, rest_new)
        self._differing(("patternProperties", "dependentSchemas", "dependentRequired"), old, new)
        if "propertyNames" in old.table or "propertyNames" in new.table:
            self.compare(old.at("propertyNames"), new.at("propertyNames"))

    def _required(self, old: At, new: At) -> None:
        before, after = names_in(old.table.get("required")), names_in(new.table.get("required"))
        for name in after:
            if name not in before:
                at = new.at("required", where=below(new.where, name))
                self._say(Direction.TIGHTER, f"{name!r} is required", old.at("required"), at)
        for name in before:
            if name not in after:
                at = new.at("required", where=below(new.where, name))
                self._say(Direction.LOOSER, f"{name!r} is no longer required", old.at("required"), at)

    def _property(self, name: str, old: At, new: At) -> None:
        was, now = name in mapping(old.table.get("properties")), name in mapping(new.table.get("properties"))
        where = below(new.where, name)
        one = old.at("properties", name, where=where) if was else rest_of(old, where)
        other = new.at("properties", name, where=where) if now else rest_of(new, where)
        if was and now:
            self.compare(one, other)
        elif now and one.never:
            if not other.never:
                self._say(Direction.LOOSER, f"{name!r} is taken", old, other)
        elif was and other.never:
            if not one.never:
                self._say(Direction.TIGHTER, f"{name!r} is no longer taken", one, At(other.schema, new.path, where))
        elif now and one.open and not other.open and name not in names_in(old.table.get("required")):
            self._say(Direction.ADDED, f"{name!r} is known now; who sent one before must fit it", old, other)
        elif now and one.open and other.open:
            self._say(Direction.NOTE, f"{name!r} is known now", old, other)
        elif was and other.open and one.open:
            self._say(Direction.NOTE, f"{name!r} is no longer known", one, new)
        elif was and other.open:
            self._say(Direction.LOOSER, f"{name!r} is no longer held against a schema", one, new)
        else:
            self.compare(one, other)

    # ---- lists -------------------------------------------------------------------------------------------------

    def _lists(self, old: At, new: At) -> None:
        if not both_take("array", old, new):
            return
        first = max(len(items(side.table.get("prefixItems"))) for side in (old, new))
        for index in range(first):
            self.compare(item_of(old, index), item_of(new, index))
        self.compare(item_of(old, first), item_of(new, first))
        before, after = old.table.get("uniqueItems") is True, new.table.get("uniqueItems") is True
        if before != after:
            direction = Direction.TIGHTER if after else Direction.LOOSER
            self._say(direction, "`uniqueItems`", old.at("uniqueItems"), new.at("uniqueItems"), before, after)
        self._differing(("contains", "minContains", "maxContains"), old, new)

    # ---- combined schemas --------------------------------------------------------------------------------------

    def _combined(self, old: At, new: At) -> None:
        self._all_of(old, new)
        for keyword in ("anyOf", "oneOf"):
            self._one_of(keyword, old, new)

    def _unions(self, old: At, new: At) -> None:
        """Compare two lists of alternatives; one schema is a list of one."""
        sides = []
        for at in (old, new):
            union = is_union(at.schema)
            sides.append(
                [at.at("anyOf", number) for number in range(len(items(at.table.get("anyOf"))))] if union else [at]
            )
        before, after = self._matched(*sides)
        if len(before) == len(after) == 1 and len(sides[0]) == len(sides[1]):
            self.compare(before[0], after[0])
        else:
            self._branches("anyOf", before, after, (old, new), sides)

    def _all_of(self, old: At, new: At) -> None:
        before, after = self._unmatched("allOf", old, new)
        if len(before) == len(after) == 1:
            self.compare(before[0], after[0])
            return
        for schema in before:
            self._say(Direction.LOOSER, "one of `allOf` is gone", schema, new, may=True)
        for schema in after:
            self._say(Direction.TIGHTER, "one more of `allOf`", old, schema, may=True)

    def _one_of(self, keyword: str, old: At, new: At) -> None:
        was, now = bool(items(old.table.get(keyword))), bool(items(new.table.get(keyword)))
        if not was and not now:
            return
        before, after = self._unmatched(keyword, old, new)
        if was and now and len(before) == len(after) == 1:
            self.compare(before[0], after[0])
            if keyword == "oneOf":
                self._say(Direction.UNDECIDED, "`oneOf`: values that fit several", before[0], after[0])
        elif not now:
            self._say(Direction.LOOSER, f"`{keyword}` is gone", old.at(keyword), new, may=True)
        elif not was:
            self._say(Direction.UNDECIDED, f"`{keyword}` is new", old, new.at(keyword))
        else:
            self._branches(keyword, before, after, (old, new), [before, after])

    def _branches(
        self, keyword: str, before: list[At], after: list[At], whole: tuple[At, At], sides: list[list[At]]
    ) -> None:
        decided = keyword == "anyOf"
        for schema in before:
            if not any(self._fits(schema, branch) for branch in sides[1]):
                sure = self._is_apart(schema, sides[1])
                direction = Direction.TIGHTER if decided else Direction.UNDECIDED
                self._told(direction, f"one of `{keyword}` is gone", schema, whole[1], sure=sure)
        for schema in after:
            if not any(self._fits(branch, schema, turned=True) for branch in sides[0]):
                sure = self._is_apart(schema, sides[0])
                direction = Direction.LOOSER if decided else Direction.UNDECIDED
                self._told(direction, f"one more of `{keyword}`", whole[0], schema, sure=sure)
        if not decided and (before or after):
            self._say(Direction.UNDECIDED, "`oneOf`: values that fit several", *whole)

    def _told(self, direction: Direction, message: str, old: At, new: At, *, sure: bool) -> None:
        around, self.plain = self.plain, (True, True)
        self._say(direction, message, old, new, may=not sure)
        self.plain = around

    def _is_apart(self, at: At, others: list[At]) -> bool:
        """Whether a schema takes values of a type that no other takes."""
        types = types_in(at.table) if isinstance(at.schema, dict) else frozenset()
        return is_plain(at.schema) and all(types - takes(other.schema) for other in others)

    def _unmatched(self, keyword: str, old: At, new: At) -> tuple[list[At], list[At]]:
        return self._matched(
            [old.at(keyword, index) for index in range(len(items(old.table.get(keyword))))],
            [new.at(keyword, index) for index in range(len(items(new.table.get(keyword))))],
        )

    def _matched(self, before: list[At], after: list[At]) -> tuple[list[At], list[At]]:
        """Return the schemas of each side that have no equal on the other: of the same words, or taking the same."""
        left = list(after)
        only_old: list[At] = []
        texts = [canonical(at.schema) for at in left]  # type: ignore[arg-type]  # documents hold JSON
        for at in before:
            text = canonical(at.schema)  # type: ignore[arg-type]
            place = texts.index(text) if text in texts else None
            if place is not None and self.same.is_same(at.schema, left[place].schema):
                del texts[place], left[place]
            else:
                only_old.append(at)
        if len(only_old) * len(left) > _MOST_TRIED:
            return only_old, left
        rest = []
        for at in only_old:
            same = next((each for each in left if self._equal(at, each)), None)
            if same is None:
                rest.append(at)
            else:
                left.remove(same)
        return rest, left

    def _equal(self, old: At, new: At) -> bool:
        return not self._tried(old, new)

    def _fits(self, old: At, new: At, *, turned: bool = False) -> bool:
        """Whether all that one schema takes the other takes; `turned`: all that the new one takes."""
        aside = {Direction.TIGHTER if turned else Direction.LOOSER, Direction.NOTE}
        return self._tried(old, new) <= aside

    def _tried(self, old: At, new: At) -> frozenset[Direction]:
        """In which directions two schemas differ, said of them alone."""

        def compared() -> frozenset[Direction]:
            trial = _Comparison(self.roots, self.trials, self.plain_words, self.same, depth=self.depth)
            trial.compare(old, new)
            return frozenset(change.direction for change in trial.found)

        return self.trials.verdict((id(old.schema), id(new.schema)), len(new.where), compared)

    def _others(self, old: At, new: At) -> None:
        names = (old.table.keys() | new.table.keys()) - READ
        self._differing(tuple(sorted(names)), old, new)
        refs = (old.table.get("$ref"), new.table.get("$ref"))
        if refs[0] != refs[1]:
            self._say(Direction.UNDECIDED, "`$ref`", old.at("$ref"), new.at("$ref"), *refs)

    def _differing(self, keywords: tuple[str, ...], old: At, new: At) -> None:
        for keyword in keywords:
            before, after = old.table.get(keyword), new.table.get(keyword)
            if not self.same.is_same(before, after):
                self._say(Direction.UNDECIDED, f"`{keyword}`", old.at(keyword), new.at(keyword), before, after)
