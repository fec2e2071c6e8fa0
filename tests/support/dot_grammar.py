"""The grammar of Graphviz's language, as its manual gives it: tells text that `dot` reads from other text."""

import re

_TOKEN = re.compile(
    r"""
    (?P<blank>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<quoted>"(?:\\.|[^"\\])*")
  | (?P<word>[A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)
  | (?P<number>-?(?:\.\d+|\d+(?:\.\d*)?))
  | (?P<sign>->|--|[{}\[\]=;,:])
    """,
    re.VERBOSE | re.DOTALL,
)
_KEYWORDS = frozenset({"node", "edge", "graph", "digraph", "subgraph", "strict"})


class DotError(Exception):
    """The text is no DOT."""


def check_dot(text: str) -> None:
    """Read a text by the grammar of DOT; raises `DotError`, as `dot` ends with a syntax error."""
    reader = _Reader(_tokens(text))
    reader.graph()


def _tokens(text: str) -> list[tuple[str, str, int]]:
    found: list[tuple[str, str, int]] = []
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        line = text.count("\n", 0, at) + 1
        if token is None:
            raise DotError(f"line {line}: {text[at : at + 20]!r}")
        kind = token.lastgroup or ""
        if kind == "word" and token[0].lower() in _KEYWORDS:
            kind = "keyword"
        if kind != "blank":
            found.append((kind, token[0].lower() if kind == "keyword" else token[0], line))
        at = token.end()
    return [*found, ("end", "", text.count("\n") + 1)]


class _Reader:
    def __init__(self, tokens: list[tuple[str, str, int]]) -> None:
        self.tokens = tokens
        self.at = 0

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0]

    @property
    def text(self) -> str:
        return self.tokens[self.at][1]

    def take(self, *texts: str) -> bool:
        if self.kind in ("sign", "keyword") and self.text in texts:
            self.at += 1
            return True
        return False

    def need(self, *texts: str) -> None:
        if not self.take(*texts):
            self.fail(f"expected {' or '.join(texts)}")

    def fail(self, why: str) -> None:
        raise DotError(f"line {self.tokens[self.at][2]}: syntax error near {self.text!r}: {why}")

    def id(self) -> None:
        if self.kind not in ("quoted", "word", "number"):
            self.fail("expected a name")
        self.at += 1

    def is_id(self) -> bool:
        return self.kind in ("quoted", "word", "number")

    def graph(self) -> None:
        self.take("strict")
        self.need("graph", "digraph")
        if self.is_id():
            self.id()
        self.block()
        if self.kind != "end":
            self.fail("expected the end")

    def block(self) -> None:
        self.need("{")
        while not self.take("}"):
            self.statement()
            self.take(";")

    def statement(self) -> None:
        if self.take("graph", "node", "edge"):
            self.attributes(needed=True)
        elif self.kind == "keyword" or self.text == "{":
            self.subgraph()
            self.edges()
        else:
            self.id()
            if self.take("="):
                self.id()
                return
            self.port()
            self.edges()
            self.attributes(needed=False)

    def edges(self) -> None:
        while self.take("->"):
            if self.kind == "keyword" or self.text == "{":
                self.subgraph()
            else:
                self.id()
                self.port()

    def port(self) -> None:
        while self.take(":"):
            self.id()

    def subgraph(self) -> None:
        if self.take("subgraph") and self.is_id():
            self.id()
        self.block()

    def attributes(self, *, needed: bool) -> None:
        if needed and self.text != "[":
            self.fail("expected [")
        while self.take("["):
            while not self.take("]"):
                self.id()
                self.need("=")
                self.id()
                self.take(";", ",")
