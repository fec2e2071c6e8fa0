"""What keeps a language model from being called, as far as its preset alone tells."""

from collections.abc import Iterator, Mapping
from typing import Any

from tuvl.analysis.fault import Fault
from tuvl.analysis.header_faults import refused_model_headers
from tuvl.analysis.steps import mapping, text
from tuvl.http.base_url import EXAMPLE, base_url_problem
from tuvl.spec.reserved_settings import reserved_settings
from tuvl.spec.variables import VARIABLE

_SOMETHING = "1"
"""Stands for the value of a variable: part of a host, a port or a path alike."""


def preset_faults(data: Mapping[str, Any]) -> Iterator[Fault]:
    """Mistakes of a `kind: AgentModel` for which each call would fail; a variable counts as written well."""
    spec = mapping(data.get("spec"))
    yield from _base_faults(text(spec.get("api_base")))
    if spec.get("provider") != "scripted":  # which takes nothing but its script
        yield from _setting_faults(mapping(spec.get("extra")))
        yield from refused_model_headers(mapping(spec.get("extra")))


def _base_faults(base: str | None) -> Iterator[Fault]:
    if base is None:
        return
    before, variable, _ = base.partition("${")
    if variable and "://" not in before:
        return  # the variable may hold any of it
    problem = base_url_problem(VARIABLE.sub(_SOMETHING, base).strip())
    if problem is not None:
        yield Fault(("spec", "api_base"), f"`api_base` {problem}", f"write it as `{EXAMPLE}`")


def _setting_faults(extra: Mapping[str, Any]) -> Iterator[Fault]:
    for setting in reserved_settings(extra):
        path = ("spec", "extra", *setting.path)
        yield Fault(path, f"`extra` may not set {setting.name!r}: {setting.why}", "take it away", at_key=True)
