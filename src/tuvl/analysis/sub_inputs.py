"""What a Workflow step gives the workflow that it runs, held against what that one takes."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tuvl.analysis.fault import Fault
from tuvl.analysis.flow_graph import Place
from tuvl.analysis.known_values import KnownValues
from tuvl.analysis.object_keys import ObjectKeys
from tuvl.analysis.schema_facts import types_of
from tuvl.analysis.steps import WorkflowView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings
from tuvl.analysis.type_names import kinds, said
from tuvl.analysis.value_ranges import kind_of
from tuvl.suggest import closest
from tuvl.templating.plain import is_template
from tuvl.templating.result import Types, TypesOf, result_types
from tuvl.values import JsonValue, KeyPath, dump_json, format_path, shorten

_DEEPEST = 24


def unfit_input(place: Place, values: KnownValues, project: Surroundings) -> Iterator[Fault]:
    """Parts of the input that the workflow refuses, whatever the context holds."""
    step = place.step
    name, given = text(step.data.get("workflow")), step.data.get("input", {})
    document = project.workflow(name) if name else None
    if document is None or not isinstance(given, dict):
        return
    schema = WorkflowView(mapping(document.data)).spec.get("input")
    for misfit in _Fitting(lambda path: values.types(place, path)).misfits(schema, given, ()):
        yield Fault(
            (*step.path, "input", *misfit.path) if "input" in step.data else (*step.path, "workflow"),
            f"step {step.id!r} runs workflow {name!r}, whose `spec.input` refuses what it gives: {misfit.why}",
            misfit.hint,
            at_key=misfit.at_key,
        )


class _Misfit(NamedTuple):
    """One part of a value that a schema refuses."""

    path: KeyPath
    why: str
    hint: str
    at_key: bool = False


class _Fitting:
    """Walks a value and a schema side by side; what it cannot tell (references, patterns) it lets pass."""

    def __init__(self, types_of_path: TypesOf) -> None:
        self._types_of_path = types_of_path

    def misfits(self, schema: object, value: JsonValue, path: KeyPath) -> Iterator[_Misfit]:
        """Everything for which no rendering of the value fits."""
        if not isinstance(schema, dict) or len(path) > _DEEPEST:
            return
        name = repr(format_path(path)) if path else "the input"
        given, wanted = self._types(value), types_of(schema)
        if given is not None and wanted is not None and not kinds(given) & kinds(wanted):
            yield _Misfit(path, f"{name} is {said(given)}, not {said(wanted)}", f"give {said(wanted)}")
        elif isinstance(value, dict):
            yield from self._keys(schema, value, path)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from self.misfits(schema.get("items"), item, (*path, index))
        elif not isinstance(value, str) or not is_template(value):
            allowed = _allowed(schema, value)
            if allowed is not None:
                yield _Misfit(path, f"{name} must be {allowed}", "give a value that fits")

    def _types(self, value: JsonValue) -> Types | None:
        if isinstance(value, str):
            return result_types(value, self._types_of_path)
        return frozenset({kind_of(value)})

    def _keys(self, schema: Mapping[str, JsonValue], value: dict[str, JsonValue], path: KeyPath) -> Iterator[_Misfit]:
        keys = ObjectKeys(schema)
        for name in sorted(keys.required - value.keys()):
            whole = format_path((*path, name))
            yield _Misfit(path, f"the required key {whole!r} is missing", f"give {whole!r} under `input`")
        for name, part in value.items():
            place = (*path, name)
            if not keys.may_have(name):
                near = closest(name, sorted(keys.named - value.keys()))
                hint = f"did you mean {near!r}?" if near else "take it away, or add it to that `spec.input`"
                yield _Misfit(place, f"it has no key {format_path(place)!r}", hint, at_key=True)
            else:
                yield from self.misfits(mapping(schema.get("properties")).get(name), part, place)


def _allowed(schema: Mapping[str, JsonValue], value: JsonValue) -> str | None:
    """What a single value would have to be; `None` when nothing that is known here refuses it."""
    choices = [schema["const"]] if "const" in schema else items(schema.get("enum"))
    if choices and not any(kind_of(choice) == kind_of(value) and choice == value for choice in choices):
        return shorten(" or ".join(map(dump_json, choices)))
    if isinstance(value, float) and types_of(schema) == frozenset({"integer"}) and not value.is_integer():
        return "a whole number"
    if isinstance(value, str):
        return _outside(len(value), schema.get("minLength"), schema.get("maxLength"), " characters long")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _outside(value, schema.get("minimum"), schema.get("maximum"), "")
    return None


def _outside(size: float, least: JsonValue, most: JsonValue, unit: str) -> str | None:
    if isinstance(least, int | float) and size < least:
        return f"at least {least}{unit}"
    return f"at most {most}{unit}" if isinstance(most, int | float) and size > most else None
