"""Template text → its tree, through Jinja's parser. What the sandbox does not have becomes a problem here.

Nothing else of Jinja is used: no environment of filters, no code generation, no rendering.
"""

from functools import lru_cache

from jinja2 import Environment
from jinja2.exceptions import TemplateSyntaxError
from jinja2.parser import Parser

from tuvl.dataclass import dataclass
from tuvl.templating.convert import Converter
from tuvl.templating.plain import normal
from tuvl.templating.tree import Block, Emit, Expression

_ENVIRONMENT = Environment(keep_trailing_newline=True, autoescape=False)  # prompts and bodies are no HTML


@dataclass(frozen=True, slots=True)
class Syntax:
    """A template taken apart; with problems the body is incomplete."""

    body: Block
    problems: tuple[str, ...]

    @property
    def single(self) -> Expression | None:
        """The expression, when the text is one expression and nothing else."""
        only = self.body[0] if len(self.body) == 1 else None
        return only.expression if isinstance(only, Emit) else None


@lru_cache(maxsize=1024)
def parse_template(text: str) -> Syntax:
    """Parse a template; what is wrong with it is told in `problems`, one line each."""
    text = normal(text)
    many_lines = "\n" in text
    try:
        template = Parser(_ENVIRONMENT, text).parse()
        converter = Converter(many_lines=many_lines)
        body = converter.block(template.body)
    except TemplateSyntaxError as error:
        place = f"line {error.lineno}: " if many_lines else ""
        return Syntax((), (f"{place}does not parse: {error.message}",))
    except RecursionError:
        return Syntax((), ("is nested too deeply",))
    except ValueError:
        # Jinja's lexer lets Python's guard against integers of thousands of digits through.
        return Syntax((), ("holds a number of too many digits",))
    return Syntax(body, tuple(converter.problems))
