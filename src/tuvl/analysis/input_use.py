"""Uses of context keys that cannot work with the values those are known to have."""

from collections.abc import Iterator

from tuvl.analysis.fault import Fault
from tuvl.analysis.flow_graph import Place
from tuvl.analysis.key_flow import KeyFlow
from tuvl.analysis.key_reads import KeyRead
from tuvl.analysis.known_values import BY_INPUT, Known, KnownValues
from tuvl.analysis.language_models import whole
from tuvl.analysis.steps import items, text
from tuvl.analysis.sub_inputs import unfit_input
from tuvl.analysis.surroundings import Surroundings
from tuvl.analysis.type_names import article, kinds, said
from tuvl.analysis.value_ranges import kind_of
from tuvl.analysis.waiting import MAX_ITEMS
from tuvl.templating.plain import is_template, plain_template
from tuvl.templating.result import Types, TypesOf, expression_types, result_types
from tuvl.values import JsonValue

_ORDERED = ("gt", "gte", "lt", "lte")


def input_mismatches(flow: KeyFlow, project: Surroundings) -> Iterator[Fault]:
    """Every use that fails whatever the input is, as far as it is known what a key can hold."""
    yield from _unsatisfiable(flow)
    values = KnownValues(flow)
    for place in flow.graph.places:
        match place.step.kind:
            case "Workflow":
                yield from unfit_input(place, values, project)
            case "ForEach":
                yield from _list_wanted(place, values)
        if place.called:
            continue
        for read in place.reads:
            if len(read.path) > 1 and read.need == "always":
                yield from _read(read, place, values)
        if place.step.kind == "Router":
            yield from _comparison(place, values)
            yield from _matched(place, values)
            yield from _undecided(place, values)
        elif place.step.kind == "Functional" and place.step.data.get("runner") == "wait":
            yield from _seconds(place, values)


def _unsatisfiable(flow: KeyFlow) -> Iterator[Fault]:
    if flow.input.fits_no_object:
        yield Fault(
            ("spec", "input"),
            "no input fits: a run begins with a mapping of keys, and the schema lets no mapping in",
            "write `type: object`, and each key of the input under `properties`",
            at_key=True,
        )
        return
    for index, name in enumerate(items(flow.input.schema.get("required"))):
        if isinstance(name, str) and not flow.input.may_have(name):
            yield Fault(
                ("spec", "input", "required", index),
                f"no input fits: {name!r} is required, and the schema lets no input have it",
                f"add {name!r} to `properties`, or correct the name",
            )


def _read(read: KeyRead, place: Place, values: KnownValues) -> Iterator[Fault]:
    """A dotted path into a value that has no parts, or not this one."""
    known = values.at(place.index, read.key)
    lost = known.lost(read.path) if known is not None else None
    if lost is not None:
        message = f"step {place.step.id!r} reads {'.'.join(read.path)!r} in `{read.field}`, but {lost.why}"
        yield Fault(read.place, message, lost.hint)


def _list_wanted(place: Place, values: KnownValues) -> Iterator[Fault]:
    """A ForEach over what is no list, or over one that is longer than `max_items` whatever the input is."""
    step = place.step
    source = text(step.data.get("items"))
    if source is None or not is_template(source):
        return
    path = _only_path(source)
    known = values.at(place.index, path[0]) if path and not place.called else None
    what = repr(".".join(path)) if path else f"`{source}`"
    types = result_types(source, lambda path: values.types(place, path))
    if types is not None and "array" not in types:
        is_said = said(types) if known is None else f"{said(types)} {known.by}"
        yield Fault(
            (*step.path, "items"),
            f"step {step.id!r} goes through {what}, {is_said} and not a list",
            _correct("give a list", known),
        )
    most = whole(step.data.get("max_items")) or MAX_ITEMS
    fewest = known.fewest_items(path[1:]) if known is not None else 0
    if known is not None and fewest > most:
        yield Fault(
            (*step.path, "items"),
            f"step {step.id!r} goes through {what}, which has {fewest} items at least {known.by}, and takes {most}: "
            "it runs none of them",
            _correct("raise `max_items`", known),
        )


def _only_path(source: str) -> tuple[str, ...]:
    """The dotted path that a text is and nothing else; empty for any other text."""
    plain = plain_template(source)
    return tuple(map(str, plain.single)) if plain is not None and plain.single else ()


def _correct(what: str, known: Known | None) -> str:
    return f"{what}, or correct the type in `spec.input`" if known is not None and known.by == BY_INPUT else what


def _comparison(place: Place, values: KnownValues) -> Iterator[Fault]:
    """A comparison of values that never compare."""
    step = place.step
    field, operator, value = (step.get("condition", name) for name in ("field", "operator", "value"))
    if not isinstance(field, str) or not isinstance(step.data.get("condition"), dict):
        return
    key, *path = field.split(".")
    known = values.at(place.index, key) if "value" in step.data["condition"] else None
    types = known.types(tuple(path)) if known is not None else None
    why = None if types is None else _incomparable(types, operator, value)
    if known is not None and types is not None and why:
        yield Fault(
            (*step.path, "condition", "value"),
            f"step {step.id!r} compares {field!r}, {said(types)} {known.by}, {why}",
            _correct("compare values of one type", known),
        )


def _incomparable(types: Types, operator: JsonValue, value: JsonValue) -> str | None:
    of_field, of_value = kinds(types), kind_of(value)
    if operator in _ORDERED and not of_field & {"number", "string"}:
        return f"by {operator!r}, which is for numbers and texts"
    if operator in (*_ORDERED, "eq", "neq") and of_value not in of_field:
        return f"with {article(of_value)}; that always fails"
    if operator == "contains" and not of_field & {"string", "array", "object"}:
        return "by 'contains', which is for texts, lists and mappings"
    if operator == "contains" and "array" not in of_field and of_value != "string":
        return f"by 'contains' with {article(of_value)}: it holds texts only; that always fails"
    if operator == "in" and isinstance(value, list) and value and not of_field & set(map(kind_of, value)):
        return f"with values of which none is {said(types)}; that always fails"
    if operator == "in" and isinstance(value, str | dict) and "string" not in of_field:
        return f"with {article(of_value)}, which holds texts only; that always fails"
    return None


def _matched(place: Place, values: KnownValues) -> Iterator[Fault]:
    """A `match` of values that are no signal."""
    field = place.step.get("match", "field")
    if not isinstance(field, str):
        return
    key, *path = field.split(".")
    known = values.at(place.index, key)
    types = known.types(tuple(path)) if known is not None else None
    if known is not None and types is not None and types <= {"array", "object"}:
        yield Fault(
            (*place.step.path, "match", "field"),
            f"step {place.step.id!r} matches {field!r}, {said(types)} {known.by}, which is no signal",
            _correct("name a part of it", known),
        )


def _seconds(place: Place, values: KnownValues) -> Iterator[Fault]:
    """A `wait` for what is no number."""
    given = text(place.step.data.get("seconds"))
    types = result_types(given, lambda path: values.types(place, path)) if given and is_template(given) else None
    if types is not None and "number" not in kinds(types):
        yield Fault(
            (*place.step.path, "seconds"),
            f"step {place.step.id!r} cannot wait for `{given}`: it gives {said(types)}, not a number of seconds",
            "give a number: `{{ key | int }}`",
        )
    elif given and types is not None and _is_negative(given):
        yield Fault(
            (*place.step.path, "seconds"),
            f"step {place.step.id!r} cannot wait for `{given}`: it is less than nothing",
            "give 0 or more seconds",
        )


def _is_negative(given: str) -> bool:
    """Whether a template is a number below 0 and nothing else."""
    if plain_template(given) is not None:
        return False
    from tuvl.templating.syntax import parse_template
    from tuvl.templating.tree import Literal, Sign

    number, negative = parse_template(given).single, False
    while isinstance(number, Sign):
        negative = negative != number.negative
        number = number.operand
    value = number.value if isinstance(number, Literal) else None
    return isinstance(value, int | float) and (-value if negative else value) < 0


def _undecided(place: Place, values: KnownValues) -> Iterator[Fault]:
    """A first `if` that gives neither true nor false; later ones may not be come to."""
    first = next(iter(items(place.step.data.get("when"))), None)
    test = text(first.get("if")) if isinstance(first, dict) else None
    if test is None:
        return
    why = _unordered(test, lambda path: values.types(place, path))
    if why is not None:
        yield Fault(
            (*place.step.path, "when", 0, "if"),
            f"step {place.step.id!r} cannot decide by `{test}`: it compares {why}; that always fails",
            "compare values of one type",
        )
    if result_types(test, lambda _: None) is not None:
        return  # what its own text tells is told as such
    types = result_types(test, lambda path: values.types(place, path))
    if types is not None and "boolean" not in types:
        yield Fault(
            (*place.step.path, "when", 0, "if"),
            f"step {place.step.id!r} cannot decide by `{test}`: it gives {said(types)}, not true or false",
            "compare it with a value: `{{ key == 'value' }}`",
        )


def _unordered(test: str, types_of: TypesOf) -> str | None:
    """Say which values an expression puts in order that have none."""
    if not is_template(test) or plain_template(test) is not None:
        return None
    # Jinja's parser takes most of a tenth of a second to import; who has scanned this template has paid for it.
    from tuvl.templating.syntax import parse_template
    from tuvl.templating.tree import Compare

    compared = parse_template(test).single
    if not isinstance(compared, Compare) or compared.rest[0][0] not in ("<", "<=", ">", ">="):
        return None
    left, right = expression_types(compared.first, types_of), expression_types(compared.rest[0][1], types_of)
    if left is None or right is None or _in_order(left) & _in_order(right):
        return None
    return f"{said(left)} with {said(right)}"


def _in_order(types: Types) -> frozenset[str]:
    """Kinds that have an order: templates take `true` for 1."""
    known = kinds(types)
    return (known | {"number"} if "boolean" in known else known) & {"number", "string", "array"}
