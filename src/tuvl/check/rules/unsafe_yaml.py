"""TV003 unsafe-yaml."""

from tuvl.check.finding import Severity
from tuvl.check.reported import SourceRule


class UnsafeYaml(SourceRule):
    """The file holds something that no honest document needs.

    That is: bytes that are not UTF-8, invisible line breaks, tags, anchors that contain themselves, aliases that
    multiply, nesting past 64 levels, more than 5 MiB, or 512 KiB in an artifact. Each of these lets a small or
    honest-looking file crash a reader, fill its memory, run code, or mean something else than what a person sees.
    """

    code = "TV003"
    name = "unsafe-yaml"
    severity = Severity.ERROR
