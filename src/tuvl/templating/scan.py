"""What a template reads and what is wrong with it, from its syntax alone: nothing is rendered."""

from functools import lru_cache

from tuvl.dataclass import dataclass
from tuvl.templating.plain import is_template, plain_template


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What the syntax of a template tells.

    `names` are the top-level names it reads, `paths` its dotted reads as far as they are written out, `defaulted` the
    names that may be missing: read only under `default`, or asked for with `is defined`, `certain` those that every
    rendering needs, `shown` the reads of which something can stand in the text that comes out. Names that the template
    sets itself are not among them. `problems` are one line each; with any of them the template cannot be rendered.
    """

    names: frozenset[str] = frozenset()
    paths: tuple[tuple[str, ...], ...] = ()
    defaulted: frozenset[str] = frozenset()
    certain: frozenset[str] = frozenset()
    shown: frozenset[tuple[str, ...]] = frozenset()
    """The dotted reads that are shown, as far as they are written out."""
    revealed: frozenset[tuple[str, ...]] = frozenset()
    """The same with those that are shown as numbers, and of lists only the parts that are taken of their items."""
    problems: tuple[str, ...] = ()
    is_template: bool = False
    single_expression: bool = False


_LITERAL = Scan()


@lru_cache(maxsize=4096)
def scan(text: str) -> Scan:
    """Read a template. A text without `{{` and `{%` is no template and has neither names nor problems."""
    if not is_template(text):
        return _LITERAL
    plain = plain_template(text)
    if plain is None:
        return _scan_syntax(text)
    paths = tuple(dict.fromkeys(tuple(map(str, part)) for part in plain.parts if isinstance(part, tuple)))
    names = frozenset(path[0] for path in paths)
    return Scan(
        names=names,
        paths=paths,
        certain=names,
        shown=frozenset(paths),
        revealed=frozenset(paths),
        is_template=True,
        single_expression=plain.single is not None,
    )


def _scan_syntax(text: str) -> Scan:
    # Jinja's parser takes most of a tenth of a second to import, and few files need it.
    from tuvl.templating.reads import reads_of
    from tuvl.templating.shown import REVEALS_NOTHING, shown_paths
    from tuvl.templating.syntax import parse_template

    syntax = parse_template(text)
    reads = reads_of(syntax.body)
    return Scan(
        names=frozenset(path[0] for path in reads.paths),
        paths=tuple(reads.paths),
        defaulted=frozenset(reads.maybe - reads.surely),
        certain=frozenset(reads.certain),
        shown=shown_paths(syntax.body),
        revealed=shown_paths(syntax.body, REVEALS_NOTHING, of_items=True),
        problems=syntax.problems,
        is_template=True,
        single_expression=syntax.single is not None,
    )
