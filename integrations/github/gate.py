"""The gate of the GitHub Action: annotations for the log, a SARIF file if wanted, and one comment on the pull request.

The comment holds the findings, and what the change means for callers and for authority: `tuvl diff` with the base.

Needs nothing but the standard library and an installed tuvl. Settings come as environment
variables, see `action.yml`. The exit code is that of `tuvl validate`, or of `tuvl diff` where that is to close the gate
too; a comment that cannot be written is a warning. 2 says that the gate could not do its work: an input that it does
not know, a report that is not written.
"""

import html
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MARK = "<!-- tuvl gate -->"
"""First line of the comment, by which it is found again."""
MOST_ROWS = 50
ROOM_FOR_FINDINGS = 25_000
"""Characters of the comment that are kept from the changes; the API takes 65,536 in all."""
NO_CHANGE = "\n\nNo change.\n"
MOST_PAGES = 20
TIMEOUT_S = 30.0
_SIGNS = {"error": "❌", "warning": "⚠️", "note": "ℹ️"}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The inputs of the action."""

    strict: bool
    comment: bool
    diff: str
    changed_since: str
    sarif: str
    paths: tuple[str, ...]


def main(environ: Mapping[str, str]) -> int:
    """Check, mark, comment; returns the exit code of the gate."""
    try:
        settings = settings_of(environ)
    except ValueError as error:
        print(f"::error title=tuvl::{error}")
        code = 2
    else:
        code = gate(settings, environ)
    return code if told(code, environ) else max(code, 2)


def settings_of(environ: Mapping[str, str]) -> Settings:
    """Read the inputs; raises `ValueError` for a value that none of them takes: a gate does not guess."""
    return Settings(
        strict=one_of("strict", environ.get("GATE_STRICT", "true"), ("true", "false")) == "true",
        comment=one_of("comment", environ.get("GATE_COMMENT", "true"), ("true", "false")) == "true",
        diff=one_of("diff", environ.get("GATE_DIFF", "comment"), ("comment", "gate", "off")),
        changed_since=environ.get("GATE_CHANGED_SINCE", ""),
        sarif=environ.get("GATE_SARIF", ""),
        paths=tuple(filter(None, map(str.strip, environ.get("GATE_PATHS", "").splitlines()))),
    )


def one_of(name: str, value: str, known: tuple[str, ...]) -> str:
    """Return a value that the input of that name takes."""
    if value not in known:
        # Of the value only what cannot end the line, which the log would obey.
        raise ValueError(f"the input {name!r} takes {' or '.join(known)}, and was given {ascii(value)[:80]}")
    return value


def gate(settings: Settings, environ: Mapping[str, str]) -> int:
    """Do the work of the gate."""
    words = list(options(settings))
    code = run("validate", "--format", "github", *words).returncode
    if settings.sarif and not reported(settings.sarif, words):
        print("::error title=tuvl::the SARIF report was not written")
        code = max(code, 2)
    pull = pull_request(environ)
    diff = changes(settings, pull or {})
    if settings.diff == "gate":
        unknown = diff is None and pull is None
        code = max(code, 2 if unknown else 0, 0 if diff is None else diff.returncode)
    number = (pull or {}).get("number")
    if settings.comment and isinstance(number, int):
        listed = run("validate", "--format", "jsonl", "--quiet", *words, capture=True)
        findings = [json.loads(line) for line in listed.stdout.splitlines()]
        changed = diff is not None and diff.returncode < 2 and NO_CHANGE not in diff.stdout
        said = comment(findings, code) + (f"\n{diff.stdout}" if diff is not None and changed else "")
        try:
            keep_comment(number, said, environ, wanted=bool(findings) or code != 0 or changed)
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            # A pull request from a fork comes with a token that may not write, and a reply may not be what it was
            # asked for; the gate itself has done its work.
            why = " ".join(f"{type(error).__name__}: {error}".split())
            print(f"::warning title=tuvl::the comment could not be written: {why}")
    return code


def reported(file: str, words: list[str]) -> bool:
    """Write the SARIF report; returns whether it is there, and is the one of this check."""
    before = stamp(file)
    run("validate", "--format", "sarif", "--output", file, "--quiet", *words)
    after = stamp(file)
    return after is not None and after != before


def stamp(file: str) -> tuple[int, int] | None:
    """Tell a file from the one that is written in its place."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def told(code: int, environ: Mapping[str, str]) -> bool:
    """Hand the exit code to the steps that follow; returns whether it could be."""
    output = environ.get("GITHUB_OUTPUT")
    if not output:
        return True
    try:
        with open(output, "a", encoding="utf-8") as stream:
            stream.write(f"exit-code={code}\n")
    except OSError as error:
        print(f"::error title=tuvl::the output exit-code could not be written: {error.strerror}")
        return False
    return True


def options(settings: Settings) -> Iterator[str]:
    """Yield the words for `tuvl validate`."""
    if settings.strict:
        yield "--strict"
    if settings.changed_since:
        yield f"--changed-since={settings.changed_since}"
    yield "--"
    yield from settings.paths


def changes(settings: Settings, pull: Mapping[str, Any]) -> subprocess.CompletedProcess[str] | None:
    """Compare the working directory with the base of the pull request; `None` where there is none to compare with."""
    base = settings.changed_since or base_of(pull)
    if not base or settings.diff == "off":
        return None
    most = str(65_000 - ROOM_FOR_FINDINGS)
    words = ("--format", "markdown", "--max-characters", most, "--", f"git:{fork_point(base)}", ".")
    compared = run("diff", *words, capture=True)
    if compared.returncode > 1:
        print("::warning title=tuvl::the change could not be compared with its base; check out with fetch-depth 0")
    return compared


def fork_point(base: str) -> str:
    """Return the commit that the base and the change have in common; the base itself when nobody knows."""
    words = ["git", "merge-base", "--end-of-options", base, "HEAD"]
    try:
        found = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8", check=True)
    except (OSError, subprocess.CalledProcessError):
        return base
    return found.stdout.strip() or base


def run(command: str, *words: str, capture: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a command of tuvl: the installed one, whatever modules lie in the folder that is checked."""
    sys.stdout.flush()
    return subprocess.run(
        [sys.executable, "-P", "-m", "tuvl", command, *words],
        env={name: value for name, value in os.environ.items() if name != "GATE_TOKEN"},
        stdout=subprocess.PIPE if capture else None,
        encoding="utf-8",
        check=False,
    )


def pull_request(environ: Mapping[str, str]) -> Mapping[str, Any] | None:
    """Return what GitHub says of the pull request; empty where there is none, `None` where that cannot be told."""
    path = environ.get("GITHUB_EVENT_PATH")
    if not path:
        return {}
    try:
        event = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        print(f"::warning title=tuvl::the event cannot be read, so no pull request is known: {type(error).__name__}")
        return None
    said = event.get("pull_request") if isinstance(event, dict) else None
    return said if isinstance(said, dict) else {}


def base_of(pull: Mapping[str, Any]) -> str | None:
    """Return the commit that the pull request is to be merged into."""
    base = pull.get("base")
    digest = base.get("sha") if isinstance(base, dict) else None
    return digest if isinstance(digest, str) else None


def comment(findings: list[Mapping[str, Any]], code: int) -> str:
    """Write the comment: one row a finding, as many as there is room for."""
    lines = [MARK, "### tuvl", ""]
    if code == 2:
        lines += ["The gate could not do its work; the log of the check says why.", ""]
    elif not findings:
        lines.append("Nothing found.")
    if findings:
        lines += ["| | place | check | what |", "|---|---|---|---|"]
        lines += (rows := list(fitting(row(finding) for finding in findings[:MOST_ROWS])))
        if len(findings) > len(rows):
            lines += ["", f"… and {len(findings) - len(rows)} more, in the log of the check."]
    return "\n".join(lines) + "\n"


def fitting(rows: Iterable[str]) -> Iterator[str]:
    """Yield rows as long as there is room for them."""
    left = ROOM_FOR_FINDINGS - 1_000
    for one in rows:
        left -= len(one) + 1
        if left < 0:
            return
        yield one


def row(finding: Mapping[str, Any]) -> str:
    """Write one finding as a row of the table."""
    said = cell(finding["message"]) + (f"<br>{cell(finding['hint'])}" if finding["hint"] else "")
    place = f"{cell(finding['file'])}:{finding['line']}"
    return f"| {_SIGNS[finding['severity']]} | {place} | {finding['code']} {finding['name']} | {said} |"


def cell(text: str) -> str:
    """Escape a text from a file, so that it neither leaves its cell nor is read as markup or as a mention."""
    safe = html.escape(" ".join(text.split()), quote=False)
    return "".join(f"&#{ord(sign)};" if sign in "|@`*_[]!#\\~:" else sign for sign in safe)


def keep_comment(number: int, body: str, environ: Mapping[str, str], *, wanted: bool) -> None:
    """Write the one comment anew, or for the first time; without findings only one that is there is written."""
    issue = f"/repos/{environ['GITHUB_REPOSITORY']}/issues"
    mine = own_comment(f"{issue}/{number}/comments", environ)
    if mine is not None:
        call("PATCH", f"{issue}/comments/{mine}", environ, {"body": body})
    elif wanted:
        call("POST", f"{issue}/{number}/comments", environ, {"body": body})


def own_comment(path: str, environ: Mapping[str, str]) -> int | None:
    """Find the comment that an earlier run of the gate wrote."""
    for page in range(1, MOST_PAGES + 1):
        comments = call("GET", f"{path}?per_page=100&page={page}", environ)
        for one in comments:
            # Anybody may begin a comment with the mark; only a program's is written over.
            if (one.get("body") or "").startswith(MARK) and (one.get("user") or {}).get("type") == "Bot":
                return int(one["id"])
        if len(comments) < 100:
            return None
    return None


def call(method: str, path: str, environ: Mapping[str, str], body: Mapping[str, str] | None = None) -> Any:
    """Call the API of GitHub; raises `OSError` when it cannot be reached or refuses."""
    request = urllib.request.Request(
        environ.get("GITHUB_API_URL", "https://api.github.com") + path,
        data=None if body is None else json.dumps(body).encode(),
        method=method,
        headers={
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {environ.get('GATE_TOKEN', '')}",
            "Content-Type": "application/json",
            "X-GitHub-Api-Version": "2022-11-28",
        },
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
        return json.load(response)


if __name__ == "__main__":
    sys.exit(main(os.environ))
