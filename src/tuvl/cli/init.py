"""`tuvl init`: lays down a small project that validates and runs offline at once."""

import os
import sys
from pathlib import Path

from tuvl.cli.pasted import command
from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.files import real_target
from tuvl.suggest import did_you_mean

_TEMPLATES = Path(__file__).parent / "templates"
_SUFFIX = ".txt"
"""Ends the name of every template file in the package, so that no tool takes them for documents of a project."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """One project that `tuvl init` can lay down, and the command that runs it."""

    name: str
    about: str
    workflow: str
    input: str


TEMPLATES = (
    Template(
        name="support",
        about="an agent with tools answers questions about orders, or hands over to a person",
        workflow="workflows/answer_question.yaml",
        input="inputs/where_is_it.yaml",
    ),
    Template(
        name="data",
        about="rules clean a list of contacts; one model call helps with the rows they cannot read",
        workflow="workflows/clean_contacts.yaml",
        input="inputs/contacts.json",
    ),
    Template(
        name="minimal",
        about="one model call sums up a text",
        workflow="workflows/summarize.yaml",
        input="inputs/note.yaml",
    ),
)
DEFAULT_TEMPLATE = "support"


def template_named(name: str) -> Template:
    """Return a template; raises `UsageError` with the names there are."""
    for template in TEMPLATES:
        if template.name == name:
            return template
    names = tuple(template.name for template in TEMPLATES)
    hint = did_you_mean(name, names) or f"there are {', '.join(names)}"
    raise UsageError(f"there is no template {name!r}; {hint}")


def template_files(template: Template) -> dict[str, bytes]:
    """Return the files of a template: path in the project, with `/`, and content."""
    root = _TEMPLATES / template.name
    return {
        path.relative_to(root).as_posix().removesuffix(_SUFFIX): path.read_bytes()
        for path in sorted(root.rglob(f"*{_SUFFIX}"))
    }


def init(folder: Path, template_name: str) -> int:
    """Write a project into a folder, made when it is not there; returns the exit code.

    Nothing is overwritten: when one of the files exists, none is written, and the `UsageError` names them all.
    """
    template = template_named(template_name)
    files = template_files(template)
    taken = [name for name in files if os.path.lexists(folder / name)]
    if taken:
        listed = "\n".join(f"  {folder / name}" for name in taken)
        raise UsageError(
            f"nothing is written, because these files exist already:\n{listed}\nname another folder, or move them away"
        )
    try:
        for name in files:
            real_target(folder / name, within=folder)
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            # `x` refuses what came to be there since it was looked at.
            with path.open("xb") as stream:
                stream.write(content)
    except OSError as error:
        place = error.filename or str(folder)
        raise UsageError(f"cannot write {str(place)!r}: {(error.strerror or 'failed').lower()}") from None
    sys.stderr.write(_next_steps(folder, template, tuple(files)))
    return 0


def _next_steps(folder: Path, template: Template, names: tuple[str, ...]) -> str:
    here = folder.resolve() == Path.cwd()
    lines = [f"Wrote {len(names)} files to {'this folder' if here else folder}: {template.about}.", ""]
    lines += [f"  {name}" for name in names]
    lines += ["", "Next:", ""]
    if not here:
        lines.append(f"  {command('cd', folder)}")
    lines += [
        "  tuvl validate",
        "  tuvl test",
        f"  tuvl run {template.workflow} --input {template.input}",
        f"  tuvl graph {template.workflow}",
        "",
        "It runs offline, on scripted replies; llms/default.yaml says how to use a live model.",
        "",
    ]
    return "\n".join(lines)
