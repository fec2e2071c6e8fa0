"""The gate of the GitHub Action: annotations for the log, a SARIF file if wanted, and one comment on the pull request.

The comment holds the findings, and what the change means for callers and for authority: `tuvl diff` with the base.

Needs nothing but the standard library and an installed tuvl. Settings come as environment
variables, see `action.yml`. The exit code is that of `tuvl validate`, or of `tuvl diff` where that is to close the gate
too; a comment that cannot be written is a warning.
"""

import html
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
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


def main(environ: Mapping[str, str]) -> int:
    """Check, mark, comment; returns the exit code of the gate."""
    words = list(options(environ))
    code = run("validate", "--format", "github", *words).returncode
    if environ.get("GATE_SARIF"):
        run("validate", "--format", "sarif", "--output", environ["GATE_SARIF"], "--quiet", *words)
    diff = changes(environ)
    if diff is not None and environ.get("GATE_DIFF") == "gate":
        code = max(code, diff.returncode)
    output = environ.get("GITHUB_OUTPUT")
    if output:
        with open(output, "a", encoding="utf-8") as stream:
            stream.write(f"exit-code={code}\n")
    number = pull_request(environ)
    if environ.get("GATE_COMMENT", "true") == "true" and number is not None:
        listed = run("validate", "--format", "jsonl", "--quiet", *words, capture=True)
        findings = [json.loads(line) for line in listed.stdout.splitlines()]
        changed = diff is not None and diff.returncode < 2 and NO_CHANGE not in diff.stdout
        said = comment(findings, listed.returncode) + (f"\n{diff.stdout}" if diff is not None and changed else "")
        try:
            keep_comment(number, said, environ, wanted=bool(findings) or code != 0 or changed)
        except (OSError, ValueError) as error:
            # A pull request from a fork comes with a token that may not write; the gate itself has done its work.
            print(f"::warning title=tuvl::the comment could not be written: {type(error).__name__}: {error}")
    return code


def options(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the words for `tuvl validate`."""
    if environ.get("GATE_STRICT", "true") == "true":
        yield "--strict"
    if environ.get("GATE_CHANGED_SINCE"):
        yield f"--changed-since={environ['GATE_CHANGED_SINCE']}"
    yield "--"
    yield from (line.strip() for line in environ.get("GATE_PATHS", "").splitlines() if line.strip())


def changes(environ: Mapping[str, str]) -> subprocess.CompletedProcess[str] | None:
    """Compare the working directory with the base of the pull request; `None` where there is none to compare with."""
    base = environ.get("GATE_CHANGED_SINCE") or base_of(environ)
    if not base or environ.get("GATE_DIFF", "comment") == "off":
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
    """Run a command of tuvl."""
    sys.stdout.flush()
    return subprocess.run(
        [sys.executable, "-m", "tuvl", command, *words],
        stdout=subprocess.PIPE if capture else None,
        encoding="utf-8",
        check=False,
    )


def pull_request(environ: Mapping[str, str]) -> int | None:
    """Return the number of the pull request that started this, if one did."""
    number = event_of(environ).get("number")
    return number if isinstance(number, int) else None


def base_of(environ: Mapping[str, str]) -> str | None:
    """Return the commit that the pull request is to be merged into."""
    digest = event_of(environ).get("base", {}).get("sha")
    return digest if isinstance(digest, str) else None


def event_of(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return what GitHub says of the pull request; nothing where there is none."""
    path = environ.get("GITHUB_EVENT_PATH")
    event = json.loads(Path(path).read_text(encoding="utf-8")) if path else {}
    said = event.get("pull_request", {})
    return said if isinstance(said, dict) else {}


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
            if one["body"].startswith(MARK) and one["user"]["type"] == "Bot":
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
