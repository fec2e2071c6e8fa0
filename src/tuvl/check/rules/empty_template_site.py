"""TV415 empty-template-site."""

import re
from collections.abc import Iterator

from tuvl.analysis.steps import items, mapping
from tuvl.analysis.templates import CONFIGURATION_KINDS, TemplateSite, template_sites
from tuvl.check.finding import Finding, Severity
from tuvl.check.rule import Rule, Subject
from tuvl.source.place import Range

_EXPRESSION = re.compile(r"\{\{.+?\}\}|\{%.+?%\}", re.DOTALL)
_PLAIN_EXPRESSION = re.compile(r"\{\{-?\s*[A-Za-z_][\w.]*\s*(?:\|[^{}]*)?-?\}\}")
_VARIABLE = re.compile(r"\$\{[A-Z_][A-Z0-9_]*(?::[^}]*)?\}")
_CODE = re.compile(r"^(```+|~~~+).*?^\1[`~]*[ \t]*$|`[^`\n]+`", re.DOTALL | re.MULTILINE)

_DATA = ("replies", "extra")
"""Fields of a model preset that hold somebody else's text."""


class EmptyTemplateSite(Rule):
    """`{{ … }}` stands in a field that is not rendered, or `${VAR}` where nothing expands it.

    The braces reach the model, the server or the reader as they are. Templates are rendered only in the fields the
    language reference marks so, artifacts only with `template: true`; `${VAR}` is expanded in configuration only,
    never in prompts or templates. Code in backticks is taken as meant.
    """

    code = "TV415"
    name = "empty-template-site"
    severity = Severity.WARNING

    def visit_document(self, subject: Subject) -> Iterator[Finding]:
        """Look at every text of the document."""
        if subject.loaded is not None and subject.loaded.prose is not None:
            yield from self._prose(subject)
        elif subject.kind in ("Workflow", *CONFIGURATION_KINDS):
            for site in template_sites(mapping(subject.document.data), subject.kind, holding="{"):
                if not any(part in _DATA for part in site.path):
                    yield from self._site(site, subject)
        elif subject.kind == "Artifact":
            for index, check in enumerate(items(mapping(mapping(subject.document.data).get("spec")).get("checks"))):
                criteria = mapping(check).get("criteria")
                if isinstance(criteria, str):
                    path = ("spec", "checks", index, "criteria")
                    yield from self._site(TemplateSite(path, criteria, "literal"), subject)

    def _site(self, site: TemplateSite, subject: Subject) -> Iterator[Finding]:
        owner = f" of step {site.step!r}" if site.step is not None else ""
        braces = _EXPRESSION.search(site.text) if site.use != "template" else None
        if braces is not None:
            yield self.finding(
                subject,
                site.path,
                f"`{site.field}`{owner} is not rendered; {_shown(braces[0])} stays as it is",
                hint="write the value itself, or move the expression to a field that is a template",
            )
        variable = _VARIABLE.search(_without_code(site.text)) if site.use != "configuration" else None
        if variable is not None:
            yield self.finding(
                subject,
                site.path,
                f"{variable[0]!r} is not expanded in `{site.field}`{owner}",
                hint="environment variables are for configuration; pass the value in by the input, "
                "or keep it in a model or server document",
            )

    def _prose(self, subject: Subject) -> Iterator[Finding]:
        prose = subject.loaded.prose if subject.loaded is not None else None
        if prose is None:
            return
        body = _without_code(prose.body)
        rendered = mapping(subject.document.data).get("template") is True
        braces = None if rendered else _PLAIN_EXPRESSION.search(body)
        file = subject.document.file
        if braces is not None:
            yield self.finding_at(
                file,
                _place(body, braces, prose.body_line),
                f"this text is not rendered; {_shown(braces[0])} stays as it is",
                hint="add `template: true` to the front matter, or put the braces in backticks if they are meant",
            )
        variable = _VARIABLE.search(body)
        if variable is not None:
            yield self.finding_at(
                file,
                _place(body, variable, prose.body_line),
                f"{variable[0]!r} is not expanded in prose",
                hint="pass the value in by the context, or put it in backticks if it is meant",
            )


def _without_code(text: str) -> str:
    """The text with code blanked out, everything else at its place."""
    if "`" not in text and "~~~" not in text:
        return text
    return _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)


def _place(body: str, found: re.Match[str], body_line: int) -> Range:
    before = body[: found.start()]
    line = before.count("\n")
    column = found.start() - (before.rfind("\n") + 1)
    return Range.at(body_line + line, column + 1, len(found[0].split("\n")[0]))


def _shown(expression: str) -> str:
    line = " ".join(expression.split())
    return repr(line if len(line) <= 60 else line[:59] + "…")
