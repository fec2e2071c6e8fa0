"""Rules of this repository that no linter checks."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tuvl

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "src" / "tuvl").rglob("*.py"))
LONGEST_FILE = 450

PUBLIC = [
    "AgentLoop",
    "AgentResult",
    "ApprovalDecision",
    "ApprovalRequest",
    "Approvals",
    "Audit",
    "ChatModel",
    "Compaction",
    "CompletionRecord",
    "Conclude",
    "ConfigError",
    "ContextLimits",
    "Continuation",
    "ConversationSink",
    "Event",
    "ExitReason",
    "Gates",
    "Limits",
    "LiteLLM",
    "LiveRun",
    "Message",
    "ModelError",
    "ModelReply",
    "ModelRequest",
    "OpenAICompatible",
    "Price",
    "Principal",
    "RequestObserver",
    "Retry",
    "RunControl",
    "StandingAnswer",
    "StepError",
    "Surface",
    "Tool",
    "ToolCall",
    "ToolCallRecord",
    "ToolContext",
    "ToolPolicy",
    "ToolReservation",
    "Toolbox",
    "Trim",
    "TuvlError",
    "Usage",
    "UsageError",
    "WorkReservation",
    "__version__",
    "node",
    "tool",
]
"""What `import tuvl` promises. A name leaves this list only with a major version."""


def tracked_files() -> list[Path]:
    """Return the files of the repository; of a plain copy without git, everything but what the tools leave behind."""
    try:
        answer = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
        names = [name for name in answer.stdout.decode().split("\0") if name]
        files = [ROOT / name for name in names]
    except (OSError, subprocess.CalledProcessError):
        files = [path for path in ROOT.rglob("*") if not any(part.startswith(".") for part in path.parts)]
    return [path for path in files if path.is_file()]


def texts() -> list[tuple[str, str]]:
    found = []
    for path in tracked_files():
        try:
            found.append((str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue
    return found


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_public_names_are_pinned_sorted_and_importable() -> None:
    assert sorted(tuvl.__all__) == PUBLIC
    assert list(tuvl.__all__) == sorted(tuvl.__all__)
    assert all(getattr(tuvl, name) is not None for name in PUBLIC)


def test_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'nodes'"):
        tuvl.nodes  # noqa: B018 - reading the attribute is the test


def test_package_ships_its_types() -> None:
    assert (ROOT / "src" / "tuvl" / "py.typed").is_file()


def test_version_in_the_package_is_the_one_the_build_reads() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["hatch"]["version"]["path"] == "src/tuvl/__init__.py"
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", tuvl.__version__)


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_module_says_its_duty(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_file_has_one_duty_and_so_is_short(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LONGEST_FILE, f"{lines} lines: look for the second duty"


def test_nothing_unfinished_is_left_in_the_package() -> None:
    marks = re.compile(r"NotImplementedError|\b(TODO|FIXME|XXX)\b")
    left = [
        f"{relative(path)}:{number}: {line.strip()}"
        for path in SOURCES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if marks.search(line)
    ]
    assert not left, "\n".join(left)


def test_no_file_names_a_path_of_one_machine() -> None:
    one_machine = re.compile(r"(?<![\w.:/}-])/(?:work|farm|root|Users|home)/[\w.]")
    found = [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if one_machine.search(line)
    ]
    assert not found, "\n".join(found)


def test_no_file_records_the_address_of_a_package_registry() -> None:
    """Whoever installs may use a mirror: pins are versions, never addresses."""
    address = re.compile(r"https?://[^/\s\"]*(?:pypi|pythonhosted|npmjs|debian)[^/\s\"]*/")
    found = [name for name, text in texts() if address.search(text)]
    assert not found
    assert "uv.lock" not in {relative(path) for path in tracked_files()}


def test_every_pinned_version_is_exact() -> None:
    lines = (ROOT / "requirements" / "constraints.txt").read_text(encoding="utf-8").splitlines()
    loose = [
        line for line in lines if line and not line.startswith("#") and not re.match(r"[a-z0-9-]+==\S+( ;.*)?$", line)
    ]
    assert not loose


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [
        *project["project"]["dependencies"],
        *(name for extra in project["project"].get("optional-dependencies", {}).values() for name in extra),
        *project["dependency-groups"]["dev"],
        *project["build-system"]["requires"],
    ]
    pinned = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements" / "constraints.txt").read_text(), re.MULTILINE))
    names = {
        re.split(r"[<>=!~\[ ;]", item, maxsplit=1)[0].lower().replace(".", "-").replace("_", "-") for item in wanted
    }
    assert not names - pinned


def test_test_files_have_names_of_their_own() -> None:
    names = [path.name for path in tracked_files() if path.name.startswith("test_") and path.suffix == ".py"]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("first", ["", "import tuvl.node; ", "from tuvl.node import NodeDeclaration; "])
def test_node_is_the_decorator_whatever_was_imported_before(first: str) -> None:
    """The module that defines it has the same name and must not take its place."""
    code = f"{first}from tuvl import node; node('x')(lambda ctx: {{}})"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_importing_the_package_loads_no_library_and_little_else() -> None:
    code = "import sys; import tuvl; print(*sorted(name for name in sys.modules if name.startswith('tuvl')))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout.split() == ["tuvl", "tuvl.interrupted", "tuvl.node"]
