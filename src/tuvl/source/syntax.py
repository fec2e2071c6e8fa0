"""Broken YAML → one problem in a person's words, at the place where that person must look.

libyaml says where it stopped, which is often far below the mistake. Each function here knows one family of its
messages, and looks at the lines around and at what was still open.
"""

import re
from collections.abc import Callable, Sequence

from yaml.error import MarkedYAMLError
from yaml.events import AliasEvent, DocumentEndEvent, Event, MappingEndEvent, ScalarEvent, SequenceEndEvent

from tuvl.dataclass import dataclass
from tuvl.source.nodes import MapNode, SeqNode, range_of_event, start_of
from tuvl.source.place import Position, ProblemCode, Range, SourceProblem

_SURROGATE = re.compile(r"\\(?:u|U0000)[dD][89a-fA-F][0-9a-fA-F]{2}")
_QUOTE_IT = "quote the text"
_QUOTE_TEMPLATE = 'quote the template: "{{ … }}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """Where reading stopped: libyaml's two places, the event before, and what was open then."""

    what: str
    at: Position
    context: Position
    lines: Sequence[str]
    last: Event | None
    open_nodes: Sequence[MapNode | SeqNode]

    def line(self, number: int) -> str:
        """The text of one line; empty past the end."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def char(self, at: Position) -> str:
        """The character at a position; empty past the end of the line."""
        return self.line(at.line)[at.column - 1 : at.column]

    def rest(self, at: Position) -> Range:
        """From a position to the last character of its line."""
        text = self.line(at.line).rstrip()
        return Range(at, Position(at.line, max(len(text), at.column) + 1))

    def indent(self, number: int) -> int:
        """How far a line is indented."""
        text = self.line(number)
        return len(text) - len(text.lstrip())

    @property
    def at_end(self) -> bool:
        """Whether reading stopped at the end of the document."""
        return all(not line.strip() for line in self.lines[self.at.line - 1 :]) or self.line(self.at.line)[:3] in (
            "---",
            "...",
        )

    @property
    def open_bracket(self) -> Position | None:
        """The innermost bracket that is open."""
        for node in reversed(self.open_nodes):
            if node.event.flow_style:
                return start_of(node.event)
        return None


def syntax_problem(
    error: MarkedYAMLError, lines: Sequence[str], last: Event | None, open_nodes: Sequence[MapNode | SeqNode]
) -> SourceProblem:
    """Explain why a text is no YAML."""
    at = _position(error.problem_mark) or Position(1, 1)
    stop = Break(
        what=f"{error.context or ''}: {error.problem or ''}",
        at=at,
        context=_position(error.context_mark) or at,
        lines=lines,
        last=last,
        open_nodes=open_nodes,
    )
    tab = _tab_in_indentation(stop)
    if tab is not None:
        return tab
    for words, explain in _EXPLANATIONS:
        if words in stop.what:
            return explain(stop)
    return _say(
        f"this is no YAML: {error.problem or 'unreadable'}",
        "check quotes, brackets and indentation here",
        stop.rest(at),
    )


def _position(mark: object) -> Position | None:
    line, column = getattr(mark, "line", None), getattr(mark, "column", None)
    return Position(line + 1, column + 1) if isinstance(line, int) and isinstance(column, int) else None


def _say(
    message: str, hint: str, place: Range, *, code: ProblemCode = "TV001", other: Range | None = None
) -> SourceProblem:
    return SourceProblem(code=code, message=message, hint=hint, range=place, other=other)


def _one(at: Position) -> Range:
    return Range.at(at.line, at.column)


def _tab_in_indentation(stop: Break) -> SourceProblem | None:
    for number in (stop.at.line, stop.context.line):
        column = stop.line(number)[: stop.indent(number)].find("\t") + 1
        if column:
            return _say(
                "a tab indents this line; YAML takes spaces only", "replace the tab by spaces", Range.at(number, column)
            )
    if stop.char(stop.at) == "\t":
        return _say("a tab stands where YAML takes spaces only", "replace the tab by spaces", _one(stop.at))
    return None


def _bad_start(stop: Break) -> SourceProblem:
    message = f"text cannot start with {stop.char(stop.at)!r} unless it is quoted"
    return _say(message, _QUOTE_IT, stop.rest(stop.at))


def _open_quote(stop: Break) -> SourceProblem:
    quote = stop.char(stop.context)
    return _say(f"this quote ({quote}) is never closed", f"close it with {quote}", stop.rest(stop.context))


def _bad_escape(stop: Break) -> SourceProblem:
    text = stop.line(stop.at.line)
    start = text.rfind("\\", 0, stop.at.column) + 1 or stop.at.column
    half = _SURROGATE.match(text, start - 1)
    if half is not None:
        message = f"{half[0]} is one half of a surrogate pair, and no character"
        hint = "write the character itself, or its number as \\U and eight digits"
        return _say(message, hint, Range.at(stop.at.line, start, len(half[0])))
    message = f"'{text[start - 1 : start + 1]}' is no escape that double quotes know"
    hint = "use single quotes, or write the backslash twice"
    return _say(message, hint, Range.at(stop.at.line, start, 2))


def _separator_missing(stop: Break) -> SourceProblem:
    bracket = stop.char(stop.context)
    close = "]" if bracket == "[" else "}"
    outside = stop.at.line > stop.context.line and stop.indent(stop.at.line) <= stop.indent(stop.context.line)
    if stop.at_end or outside:
        message = f"this '{bracket}' is not closed before line {stop.at.line}"
        return _say(message, f"close it with '{close}'", _one(stop.context), other=_one(stop.at))
    message = f"',' or '{close}' is expected here"
    return _say(
        message,
        "separate entries by commas; quote text that holds brackets or commas",
        _one(stop.at),
        other=_one(stop.context),
    )


def _content_missing(stop: Break) -> SourceProblem:
    char, opener = stop.char(stop.at), stop.open_bracket
    if opener is not None and (stop.at_end or not char):
        bracket = stop.char(opener)
        return _say(
            f"this '{bracket}' is never closed", f"close it with '{']' if bracket == '[' else '}'}'", _one(opener)
        )
    if opener is not None and char in "]}":
        message = f"'{char}' does not close the '{stop.char(opener)}' of line {opener.line}, column {opener.column}"
        return _say(message, "close brackets in the order they were opened", _one(stop.at), other=_one(opener))
    if char and char in "]}":
        return _say(f"'{char}' closes nothing", "delete it, or quote the text", _one(stop.at))
    if char == ",":
        return _say("a value is missing before ','", "write the value, or delete the comma", _one(stop.at))
    return _say("a value is expected here", _QUOTE_IT, stop.rest(stop.at))


def _stray_colon(stop: Break) -> SourceProblem:
    line = stop.line(stop.at.line)
    if ": " in line[: stop.at.column - 1]:
        return _say("a second ': ' on one line", "quote the value if the colon is part of it", _one(stop.at))
    above = stop.at.line - 1
    while above > 0 and (not stop.line(above).strip() or stop.line(above).lstrip().startswith("#")):
        above -= 1
    text = stop.line(above)
    start = Position(above, stop.indent(above) + 1)
    if above > 0 and ":" not in text:
        hint = "end the line with ':' if it is a key, or quote it"
        return _say("this line has no ':', and the next one starts a mapping", hint, stop.rest(start))
    first = Position(stop.at.line, stop.indent(stop.at.line) + 1)
    message = "this key is indented below a line that already has its value"
    return _say(message, f"start it in column {start.column}, like the key above", stop.rest(first), other=_one(start))


def _stray_dash(stop: Break) -> SourceProblem:
    message = "a list cannot start on the line of its key"
    return _say(message, "put '- ' on a line of its own, or quote the text", _one(stop.at))


def _colon_missing(stop: Break) -> SourceProblem:
    return _say("this line has no ':' after its key", "write `key: value`", stop.rest(stop.context))


def _key_missing(stop: Break) -> SourceProblem:
    last, char = stop.last, stop.char(stop.at)
    if isinstance(last, ScalarEvent):
        place = range_of_event(last)
        if last.style in ("'", '"') and place.end.line == stop.at.line:
            return _text_after_quote(stop, last.style, place)
        if last.style in ("|", ">") and place.end.line == stop.at.line:
            message = "this line is indented less than the text it seems to belong to"
            return _say(
                message,
                "indent it like the first line of the text, or like the key",
                stop.rest(stop.at),
                other=_one(place.start),
            )
    if _ends_value_on_line(last, stop.at.line):
        return _text_after_value(stop)
    if char and char in "]}":
        return _say(f"'{char}' closes nothing", "delete it, or quote the text", _one(stop.at))
    if char == ":":
        return _say("a key is missing before ':'", "write the key", _one(stop.at))
    if char == "-":
        return _say("a list item stands among the keys of a mapping", "indent it below its key", stop.rest(stop.at))
    return _bad_indentation(stop)


def _text_after_quote(stop: Break, quote: str, place: Range) -> SourceProblem:
    if place.start.line < place.end.line:
        message = f"this quote ({quote}) closes only on line {place.end.line}, where more text follows"
        return _say(message, f"close it with {quote} on its own line", stop.rest(place.start), other=_one(stop.at))
    inner = "''" if quote == "'" else '\\"'
    hint = f"write the quote inside as {inner}, or use the other quotes around"
    return _say("text follows after the closing quote", hint, stop.rest(stop.at))


def _ends_value_on_line(last: Event | None, line: int) -> bool:
    if not isinstance(last, MappingEndEvent | SequenceEndEvent | AliasEvent):
        return False
    start, end = last.start_mark, last.end_mark
    # The end of a block has no width; a closing bracket has.
    return start is not None and end is not None and start.column < end.column and end.line + 1 == line


def _text_after_value(stop: Break) -> SourceProblem:
    line = stop.line(stop.at.line)
    braces = line.find("{{")
    if 0 <= braces < stop.at.column:
        return _say(
            "`{{` starts a mapping here, not a template", _QUOTE_TEMPLATE, Range.at(stop.at.line, braces + 1, 2)
        )
    return _say("text follows after the value is complete", _QUOTE_IT, stop.rest(stop.at))


def _bad_indentation(stop: Break) -> SourceProblem:
    columns = sorted({start_of(node.event).column for node in stop.open_nodes if not node.event.flow_style})
    levels = ", ".join(str(column) for column in columns)
    hint = f"start it in column {levels}" if len(columns) == 1 else f"start it in one of the columns {levels}"
    message = f"column {stop.at.column} is no level of indentation above"
    return _say(message, hint if columns else "check the indentation", stop.rest(stop.at))


def _item_missing(stop: Break) -> SourceProblem:
    message = "this line stands among the items of a list, but is none"
    return _say(message, "start it with '- ', or indent it like the item's keys", stop.rest(stop.at))


def _bad_anchor(stop: Break) -> SourceProblem:
    mark = stop.char(stop.context)
    message = f"unquoted text cannot start with {mark!r}: that is the mark of an {'alias' if mark == '*' else 'anchor'}"
    return _say(message, _QUOTE_IT, stop.rest(stop.context))


def _after_the_end(stop: Break) -> SourceProblem:
    hint = "start it where the first key starts; a further document starts with `---`"
    if isinstance(stop.last, DocumentEndEvent):
        return _say("this text stands after the end of the document", hint, stop.rest(stop.at))
    return _say("this text is outside of any document", hint, stop.rest(stop.at))


def _too_deep(stop: Break) -> SourceProblem:
    message = "the text is nested too deeply to be read"
    hint = "check for brackets or indentation that repeat by mistake"
    return _say(message, hint, _one(stop.context), code="TV003")


def _bad_tag(stop: Break) -> SourceProblem:
    message = "text that starts with '!' is a tag, and tags are not allowed"
    return _say(message, _QUOTE_IT, stop.rest(stop.context), code="TV003")


def _bad_directive(stop: Break) -> SourceProblem:
    hint = "delete the line; text that starts with '%' must be quoted"
    return _say("a line that starts with '%' is a directive, and this one is unknown", hint, stop.rest(stop.context))


def _bad_block_header(stop: Break) -> SourceProblem:
    message = "text follows on the line of '|' or '>'"
    return _say(message, "start the text on the next line, indented", stop.rest(stop.at))


_EXPLANATIONS: tuple[tuple[str, Callable[[Break], SourceProblem]], ...] = (
    ("exceeded maximum nesting depth", _too_deep),
    ("tag", _bad_tag),
    ("cannot start any token", _bad_start),
    ("quoted scalar: found unexpected", _open_quote),
    ("unknown escape character", _bad_escape),
    ("hexdecimal number", _bad_escape),
    ("invalid Unicode character escape", _bad_escape),
    ("did not find expected ',' or", _separator_missing),
    ("did not find expected node content", _content_missing),
    ("mapping values are not allowed", _stray_colon),
    ("block sequence entries are not allowed", _stray_dash),
    ("could not find expected ':'", _colon_missing),
    ("did not find expected key", _key_missing),
    ("did not find expected '-' indicator", _item_missing),
    ("expected alphabetic or numeric", _bad_anchor),
    ("expected <document start>", _after_the_end),
    ("while scanning a block scalar", _bad_block_header),
    ("directive", _bad_directive),
    ("incompatible YAML", _bad_directive),
)
