"""MCP servers that are fetched when they are started, and whether always the same one comes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tuvl.analysis.fault import Fault
from tuvl.analysis.steps import items, mapping, text
from tuvl.values import KeyPath

_NPM_PIN = re.compile(r"^@?[^@]+@v?\d+\.\d+\.\d+(?:[-+][\w.+-]*)?$")
_PYTHON_PIN = re.compile(r"^[^=@<>~!]+(?:==|===|@)\s*v?\d[\w.!+-]*$")
_COMMIT = re.compile(r"[#@][0-9a-f]{7,64}$")
_IMAGE_TAG = re.compile(r":[\w.-]*\d[\w.-]*$")
_LOCAL = ("./", "../", "/", "file:", "~")

_NODE_RUNNERS: Mapping[str, tuple[str, ...]] = {
    "npx": (),
    "bunx": (),
    "npm": ("exec", "x"),
    "pnpm": ("dlx", "exec"),
    "yarn": ("dlx",),
    "bun": ("x",),
}
"""Programs that fetch packages of Node.js, and the subcommands with which they do."""
_PYTHON_RUNNERS: Mapping[str, tuple[str, ...]] = {"uvx": (), "pipx": ("run",), "uv": ("tool", "run")}
"""The same for Python; the words of a subcommand stand one after the other."""
_CONTAINERS = ("docker", "podman", "nerdctl")
_NAMES_PACKAGE = ("-p", "--package", "--from", "--spec", "--with")
_TAKES_VALUE = frozenset(
    {
        *("-a", "-e", "-h", "-l", "-m", "-p", "-u", "-v", "-w", "-c", "--add-host", "--attach", "--cap-add"),
        *("--cap-drop", "--cpus", "--device", "--dns", "--entrypoint", "--env", "--env-file", "--gpus", "--hostname"),
        *("--label", "--log-driver", "--memory", "--mount", "--name", "--net", "--network", "--platform", "--publish"),
        *("--pull", "--restart", "--security-opt", "--shm-size", "--tmpfs", "--user", "--volume", "--workdir"),
        *("--python", "--index", "--index-url", "--registry", "--cache", "--cache-dir", "--directory", "--ulimit"),
    }
)


def unpinned_packages(data: Mapping[str, Any]) -> Iterator[Fault]:
    """Packages and images that a server's artifact has fetched without saying which version."""
    spec = mapping(data.get("spec"))
    command = text(spec.get("command"))
    if spec.get("type") != "mcp" or not command:
        return
    program = re.split(r"[/\\]", command)[-1].lower().removesuffix(".exe").removesuffix(".cmd")
    arguments = [argument if isinstance(argument, str) else "" for argument in items(spec.get("args"))]
    for index, package in _packages(program, arguments):
        if not _is_pinned(program, package):
            path: KeyPath = ("spec", "args", index)
            yield Fault(
                path,
                f"the server is started through {program!r}, which fetches {package!r} in whatever version is newest",
                f"name one version: `{_example(program, package)}`",
            )


def _packages(program: str, arguments: Sequence[str]) -> Iterator[tuple[int, str]]:
    """What a runner fetches, and which argument says so."""
    start = _after_subcommand(program, arguments)
    if start is None:
        return
    named, at = False, start
    while at < len(arguments):
        word, _, value = arguments[at].partition("=")
        if program not in _CONTAINERS and word in _NAMES_PACKAGE:
            named = named or word != "--with"
            if value:
                yield at, value
            elif at + 1 < len(arguments):
                at += 1
                yield at, arguments[at]
        elif word.startswith("-") and word != "--":
            at += 1 if word in _TAKES_VALUE and not value else 0
        elif word != "--":
            if not named:
                yield at, arguments[at]
            return
        at += 1


def _after_subcommand(program: str, arguments: Sequence[str]) -> int | None:
    """Where the words begin that say what is fetched; `None` for a program that fetches nothing."""
    if program in _CONTAINERS:
        return arguments.index("run") + 1 if "run" in arguments else None
    if program == "deno":
        return next((index for index, word in enumerate(arguments) if word.startswith(("npm:", "jsr:"))), None)
    if program in _PYTHON_RUNNERS:
        words = _PYTHON_RUNNERS[program]
        return len(words) if tuple(arguments[: len(words)]) == words else None
    if program not in _NODE_RUNNERS:
        return None
    among = _NODE_RUNNERS[program]
    return 0 if not among else 1 if arguments[:1] and arguments[0] in among else None


def _is_pinned(program: str, package: str) -> bool:
    if "${" in package or package.startswith(_LOCAL) or _COMMIT.search(package):
        return True
    if program in _CONTAINERS:
        return "@sha256:" in package or _IMAGE_TAG.search(package) is not None
    if program in _PYTHON_RUNNERS:
        # A wheel has its version in its name.
        return package.endswith((".whl", ".tar.gz")) or _PYTHON_PIN.match(package) is not None
    return package.endswith(".tgz") or _NPM_PIN.match(package.removeprefix("npm:").removeprefix("jsr:")) is not None


def _example(program: str, package: str) -> str:
    if program in _CONTAINERS:
        return f"{package.removesuffix(':latest')}@sha256:…"
    bare = re.sub(r"(?<=.)(?:@|==|>=|<=|~=|>|<).*$", "", package)
    return f"{bare}==1.2.3" if program in _PYTHON_RUNNERS else f"{bare}@1.2.3"
