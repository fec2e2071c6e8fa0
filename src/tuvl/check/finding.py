"""What a check says: findings, and the report that holds them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from functools import cached_property

from tuvl.check.masking import blanked
from tuvl.dataclass import dataclass

CANNOT_CHECK = frozenset({"TV009", "TV999"})
"""Codes that say the gate itself could not do its work; they cannot be ignored."""

UNBUILDABLE = frozenset({"TV401", "TV402", "TV403", "TV404", "TV406", "TV407", "TV410"})
"""Codes from TV300 on whose errors leave nothing that could run: an agent without its mode, its tools, its outcomes."""

POLICY = frozenset({"TV801"})
"""Codes whose findings are errors where the project's policy forbids what they tell: what it forbids does not run, so
no comment and no setting makes less of it."""

_SHOWS_A_SECRET = "TV701"


class Severity(StrEnum):
    """How much a finding weighs; `--strict` makes warnings fail too."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing found: which rule, where, and what to do. Lines and columns count from 1; the end is exclusive."""

    code: str
    name: str
    severity: Severity
    message: str
    hint: str | None
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    path: str
    replacement: str | None = None
    """Text that mends it, put in place of the text at the finding's place; only where nothing else can be meant."""
    asked: bool = False
    """Whether it breaks a limit that the command line sets. Whoever runs the gate has set that, not whoever wrote the
    files: nothing in them makes less of it."""

    final: bool = False
    """Whether no run can be made in spite of it, though that can be of others that the same check tells."""

    @property
    def fixable(self) -> bool:
        """Whether `tuvl validate --fix` mends it."""
        return self.replacement is not None

    @property
    def order(self) -> tuple[str, int, int, str, str]:
        """Source order, stable between runs."""
        return (self.file, self.line, self.column, self.code, self.message)


@dataclass(frozen=True)
class Report:
    """All findings of one validation, in source order, and how many files were looked at."""

    findings: tuple[Finding, ...]
    files: int
    unreadable: tuple[str, ...] = ()
    """One message for each path that could not be read."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Text of the files that have findings, for showing the line a finding is at."""
    checked: tuple[str, ...] = ()
    """The files that were checked, sorted."""

    @classmethod
    def of(
        cls,
        findings: Iterable[Finding],
        *,
        files: int,
        unreadable: Sequence[str] = (),
        texts: Mapping[str, str] | None = None,
        checked: Iterable[str] = (),
    ) -> "Report":
        """Make a report, sorted and without doubles."""
        ordered = tuple(sorted(set(findings), key=lambda finding: finding.order))
        shown = {file: _shown(text, file, ordered) for file, text in (texts or {}).items()}
        return cls(ordered, files, tuple(dict.fromkeys(unreadable)), shown, tuple(sorted(set(checked))))

    @cached_property
    def errors(self) -> int:
        """Number of errors."""
        return sum(finding.severity is Severity.ERROR for finding in self.findings)

    @cached_property
    def warnings(self) -> int:
        """Number of warnings."""
        return sum(finding.severity is Severity.WARNING for finding in self.findings)

    @cached_property
    def notes(self) -> int:
        """Number of notes."""
        return sum(finding.severity is Severity.NOTE for finding in self.findings)

    def failed(self, *, strict: bool = False) -> bool:
        """Whether the gate is closed."""
        return self.errors > 0 or (strict and self.warnings > 0)

    @property
    def broken(self) -> bool:
        """Whether the gate could not do its work: nothing to check, an unreadable path, a check that crashed."""
        return bool(self.unreadable) or any(
            finding.code in CANNOT_CHECK and finding.severity is Severity.ERROR for finding in self.findings
        )


def _shown(text: str, file: str, findings: Sequence[Finding]) -> str:
    """The text as it may be quoted: without what was found to be a secret."""
    secret = [
        (finding.line, finding.column, finding.end_line, finding.end_column)
        for finding in findings
        if finding.code == _SHOWS_A_SECRET and finding.file == file
    ]
    return blanked(text, secret) if secret else text
