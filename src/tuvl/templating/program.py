"""Templates that need more than dotted paths: parsed, compiled to functions, run within a budget."""

from collections.abc import Callable, Mapping

from tuvl.errors import TemplateError
from tuvl.templating.budget import Rendering
from tuvl.templating.evaluate import compile_expression
from tuvl.templating.lookup import require
from tuvl.templating.statements import compile_block
from tuvl.templating.syntax import parse_template
from tuvl.values import JsonValue, copy_json


def compile_program(text: str) -> Callable[[Mapping[str, JsonValue]], JsonValue]:
    """Compile a template to a function of the values it sees. Raises `TemplateError` for what does not parse."""
    syntax = parse_template(text)
    if syntax.problems:
        raise TemplateError(f"bad template: {syntax.problems[0]}")
    if syntax.single is not None:
        evaluate = compile_expression(syntax.single)

        def render_value(values: Mapping[str, JsonValue]) -> JsonValue:
            rendering = Rendering(values)
            value = require(evaluate(rendering))
            rendering.walk(value)
            return copy_json(value)

        return render_value
    execute = compile_block(syntax.body)

    def render_text(values: Mapping[str, JsonValue]) -> JsonValue:
        pieces: list[str] = []
        execute(Rendering(values), pieces)
        return "".join(pieces)

    return render_text
