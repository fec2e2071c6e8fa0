"""Compile and render templates.

A text that is exactly one expression, `"{{ candidate }}"` with nothing outside the braces, not even a space, keeps the
type of its value; every other template makes text. What is rendered is data: it is never read as a template again.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeAlias

from tuvl.dataclass import dataclass
from tuvl.errors import TemplateError
from tuvl.templating.budget import MAX_TEXT, text_too_long
from tuvl.templating.lookup import follow, require, to_text
from tuvl.templating.plain import Path, PlainTemplate, is_template, plain_template
from tuvl.templating.scan import scan
from tuvl.values import JsonValue, copy_json

Render: TypeAlias = Callable[[Mapping[str, JsonValue]], JsonValue]


@dataclass(frozen=True, slots=True)
class Template:
    """A compiled template; it is shared by any number of runs at once.

    `where` is how messages call its place (`step 'x' field 'http.url'`), `names` the top-level names it reads.
    """

    source: str
    where: str
    names: frozenset[str]
    _render: Render

    def render(self, values: Mapping[str, JsonValue]) -> JsonValue:
        """Render; a single expression keeps its value's type, as a copy.

        Raises `TemplateError` naming the place and the variable.
        """
        try:
            return self._render(values)
        except TemplateError as error:
            raise TemplateError(f"{self.where}: {error}") from None

    def render_text(self, values: Mapping[str, JsonValue]) -> str:
        """Render to text; what is no text is written as JSON. Raises `TemplateError` naming place and variable."""
        value = self.render(values)
        return value if isinstance(value, str) else to_text(value)


def literal_template(text: str) -> Template:
    """Make a template of a text that is none, whatever it holds."""
    return Template(text, "literal text", frozenset(), lambda _: text)


def compile_template(text: str, *, where: str) -> Template:
    """Compile a text; one without `{{` and `{%` is literal. Raises `TemplateError` for what does not parse."""
    if not is_template(text):
        return Template(text, where, frozenset(), lambda _: text)
    problems = scan(text).problems
    if problems:
        raise TemplateError(f"{where}: bad template: {problems[0]}")
    return Template(text, where, scan(text).names, _renderer(text))


@lru_cache(maxsize=2048)
def _renderer(text: str) -> Render:
    plain = plain_template(text)
    if plain is None:
        # Jinja's parser takes most of a tenth of a second to import, and few files need it.
        from tuvl.templating.program import compile_program

        return compile_program(text)
    if plain.single is not None:
        return _one_value(plain.single)
    return _text(plain)


def _one_value(path: Path) -> Render:
    def render(values: Mapping[str, JsonValue]) -> JsonValue:
        value = require(follow(values, path))
        return copy_json(value) if isinstance(value, list | dict) else value

    return render


def _text(plain: PlainTemplate) -> Render:
    parts = plain.parts

    def render(values: Mapping[str, JsonValue]) -> JsonValue:
        pieces: list[str] = []
        left = MAX_TEXT
        for part in parts:
            piece = part if isinstance(part, str) else to_text(require(follow(values, part)))
            left -= len(piece)
            if left < 0:
                raise text_too_long()
            pieces.append(piece)
        return "".join(pieces)

    return render


@dataclass(frozen=True, slots=True)
class TemplateTree:
    """A JSON value whose strings, at any depth, are templates; keys are literal."""

    names: frozenset[str]
    _node: "_Node"

    def render(self, values: Mapping[str, JsonValue]) -> JsonValue:
        """Render every string. Raises `TemplateError` naming place and variable."""
        return _render_node(self._node, values)


@dataclass(frozen=True, slots=True)
class _Fixed:
    """A part without templates."""

    value: JsonValue


_Node: TypeAlias = "Template | _Fixed | list[_Node] | dict[str, _Node]"


def compile_tree(value: JsonValue, *, where: str) -> TemplateTree:
    """Compile a value; `where` is extended by the key path of each string.

    Raises `TemplateError` for what does not parse.
    """
    names: set[str] = set()
    node = _compile_node(value, where, names)
    return TemplateTree(frozenset(names), node)


def _compile_node(value: JsonValue, where: str, names: set[str]) -> _Node:
    if isinstance(value, str) and is_template(value):
        template = compile_template(value, where=where)
        names |= template.names
        return template
    if isinstance(value, list):
        items = [_compile_node(item, f"{where}[{index}]", names) for index, item in enumerate(value)]
        return _Fixed(copy_json(value)) if all(isinstance(item, _Fixed) for item in items) else items
    if isinstance(value, dict):
        table = {key: _compile_node(item, f"{where}.{key}", names) for key, item in value.items()}
        return _Fixed(copy_json(value)) if all(isinstance(item, _Fixed) for item in table.values()) else table
    return _Fixed(value)


def _render_node(node: _Node, values: Mapping[str, JsonValue]) -> JsonValue:
    if isinstance(node, _Fixed):
        return copy_json(node.value) if isinstance(node.value, list | dict) else node.value
    if isinstance(node, Template):
        return node.render(values)
    if isinstance(node, list):
        return [_render_node(item, values) for item in node]
    return {key: _render_node(item, values) for key, item in node.items()}
