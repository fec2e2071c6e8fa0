"""The filters that work on lists and mappings. None changes what it is given."""

from collections.abc import Callable

from tuvl.templating.calls import Call, Registry, reach
from tuvl.templating.lookup import Missing, kind_of, require
from tuvl.templating.operators import calculate
from tuvl.values import JsonValue, canonical

DATA_FILTERS = Registry()
_filter = DATA_FILTERS.add


def _sort_key(call: Call, *, attribute: JsonValue = None) -> Callable[[JsonValue], tuple[int, float, str]]:
    """Order numbers with numbers and text with text; a mixture is refused."""
    exact = call.flag("case_sensitive")
    kinds: set[str] = set()

    def key(item: JsonValue) -> tuple[int, float, str]:
        value = item if attribute is None else call.attribute_of(item, attribute)
        kinds.add(kind_of(value))
        if len(kinds) > 1:
            raise call.fail(f"cannot order {' and '.join(sorted(kinds))}")
        if isinstance(value, bool | int | float):
            return 0, value, ""
        if isinstance(value, str):
            call.rendering.work(1 + len(value) // 16)
            return 1, 0, value if exact else value.casefold()
        raise call.fail(f"cannot order {kind_of(value)}")

    return key


def _same(call: Call, value: JsonValue) -> str:
    """One text for values that count as equal."""
    call.rendering.walk(value)
    if isinstance(value, str) and not call.flag("case_sensitive"):
        value = value.casefold()
    return canonical(value)


@_filter("first")
def _first(call: Call) -> JsonValue:
    return _end(call, 0)


@_filter("last")
def _last(call: Call) -> JsonValue:
    return _end(call, -1)


def _end(call: Call, index: int) -> JsonValue:
    items = call.value if isinstance(call.value, str) else call.items
    if not items:
        raise call.fail("needs something in it; this is empty")
    return items[index]


@_filter("list")
def _as_list(call: Call) -> JsonValue:
    if isinstance(call.value, str):
        call.rendering.work(len(call.value))
        return list(call.value)
    return list(call.items)


@_filter("items")
def _items(call: Call) -> JsonValue:
    if not isinstance(call.value, dict):
        raise call.fail(f"needs a mapping, not {kind_of(call.value)}")
    call.rendering.work(1 + len(call.value))
    return [[key, value] for key, value in call.value.items()]


@_filter("dictsort", takes="case_sensitive? by? reverse?")
def _dictsort(call: Call) -> JsonValue:
    by = call.text("by", "key")
    if by not in ("key", "value"):
        raise call.fail("needs 'key' or 'value' as `by`")
    if not isinstance(call.value, dict):
        raise call.fail(f"needs a mapping, not {kind_of(call.value)}")
    call.rendering.work(1 + len(call.value))
    key = _sort_key(call)
    pairs = sorted(call.value.items(), key=lambda pair: key(pair[by == "value"]), reverse=call.flag("reverse"))
    return [[name, value] for name, value in pairs]


@_filter("join", takes="d? attribute?")
def _join(call: Call) -> JsonValue:
    separator = call.text("d")
    parts = []
    for item in call.items:
        value = call.attribute_of(item, call.get("attribute")) if call.has("attribute") else item
        parts.append(call.produce(call.as_text(value)))
        call.rendering.write(len(separator))
    return separator.join(parts)


@_filter("reverse")
def _reverse(call: Call) -> JsonValue:
    if isinstance(call.value, str):
        return call.produce(call.value[::-1])
    return call.items[::-1]


@_filter("sort", takes="reverse? case_sensitive? attribute?")
def _sort(call: Call) -> JsonValue:
    return sorted(call.items, key=_sort_key(call, attribute=call.get("attribute")), reverse=call.flag("reverse"))


@_filter("unique", takes="case_sensitive? attribute?")
def _unique(call: Call) -> JsonValue:
    found: dict[str, JsonValue] = {}
    for item in call.items:
        value = call.attribute_of(item, call.get("attribute")) if call.has("attribute") else item
        found.setdefault(_same(call, value), item)
    return list(found.values())


@_filter("min", takes="case_sensitive? attribute?")
def _min(call: Call) -> JsonValue:
    return _extreme(call, reverse=False)


@_filter("max", takes="case_sensitive? attribute?")
def _max(call: Call) -> JsonValue:
    return _extreme(call, reverse=True)


def _extreme(call: Call, *, reverse: bool) -> JsonValue:
    items = call.items
    if not items:
        raise call.fail("needs something in it; this is empty")
    key = _sort_key(call, attribute=call.get("attribute"))
    return max(items, key=key) if reverse else min(items, key=key)


@_filter("sum", takes="attribute? start?")
def _sum(call: Call) -> JsonValue:
    total = call.get("start", 0)
    for item in call.items:
        value = call.attribute_of(item, call.get("attribute")) if call.get("attribute") is not None else item
        total = calculate("+", total, value, call.rendering)
    return total


@_filter("batch", takes="linecount fill_with?")
def _batch(call: Call) -> JsonValue:
    size, items = call.integer("linecount", 1, least=1), call.items
    rows = [items[start : start + size] for start in range(0, len(items), size)]
    if rows and call.get("fill_with") is not None:
        call.rendering.work(size)
        rows[-1] = rows[-1] + [call.get("fill_with")] * (size - len(rows[-1]))
    return list(rows)


@_filter("slice", takes="slices fill_with?")
def _slice(call: Call) -> JsonValue:
    count, items = call.integer("slices", 1, least=1), call.items
    call.rendering.work(count)
    short, longer = divmod(len(items), count)
    rows: list[JsonValue] = []
    start = 0
    for index in range(count):
        end = start + short + (index < longer)
        row = items[start:end]
        if call.get("fill_with") is not None and longer and index >= longer:
            row = [*row, call.get("fill_with")]
        rows.append(row)
        start = end
    return rows


@_filter("groupby", takes="attribute default? case_sensitive?")
def _groupby(call: Call) -> JsonValue:
    """Sort into pairs of the attribute's value and the items that have it."""
    attribute, groups = call.get("attribute"), dict[str, tuple[JsonValue, list[JsonValue]]]()
    for item in call.items:
        value = _grouped_by(call, item, attribute)
        groups.setdefault(_same(call, value), (value, []))[1].append(item)
    key = _sort_key(call)
    return [[value, items] for value, items in sorted(groups.values(), key=lambda group: key(group[0]))]


def _grouped_by(call: Call, item: JsonValue, attribute: JsonValue) -> JsonValue:
    value = reach(item, attribute, call.fail)
    if isinstance(value, Missing) and call.has("default"):
        return call.get("default")
    return require(value)
