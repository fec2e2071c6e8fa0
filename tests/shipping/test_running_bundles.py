"""A bundle runs as its project does, from a folder that is gone afterwards; an altered one runs nothing."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.cli_support import command, environment, result, tuvl, write
from tests.shipping.shipping_support import price_desk, release_of

TELL = """\
import os, stat
from tuvl import node

@node("tell", writes=["here", "mode"], effects="write")
def tell(ctx):
    folder = os.path.dirname(os.path.dirname(__file__))
    return {"here": folder, "mode": stat.S_IMODE(os.stat(folder).st_mode)}
"""

TELLING = """\
kind: Workflow
metadata: { name: telling }
spec:
  steps:
    - { id: tell, kind: Functional, runner: tell, routes: { default: END } }
"""


def shipped(project: Path, where: Path) -> Path:
    path = where / "it.tuvl"
    path.write_bytes(release_of(project).bundle.raw)
    return path


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """An empty folder with nothing of the project near it."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


@pytest.fixture
def desk(tmp_path: Path, elsewhere: Path) -> Path:
    return shipped(price_desk(tmp_path / "desk"), elsewhere)


@pytest.fixture
def telling(tmp_path: Path, elsewhere: Path) -> Path:
    project = write(tmp_path / "telling", {"workflows/t.yaml": TELLING, "nodes/tell.py": TELL})
    return shipped(project, elsewhere)


def test_workflow_of_a_bundle_runs_where_nothing_else_of_its_project_is(desk: Path, elsewhere: Path) -> None:
    done = tuvl("run", str(desk), "--workflow", "price_order", "--set", "items=[1, 2]", cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    assert result(done)["output"] == 3


def test_bundle_of_several_workflows_names_them(desk: Path, elsewhere: Path) -> None:
    done = tuvl("run", str(desk), cwd=elsewhere)
    assert done.returncode == 2
    assert "has 2 workflows; choose one with --workflow: ask_daily, price_order" in done.stderr
    wrong = tuvl("run", str(desk), "--workflow", "price_ordre", cwd=elsewhere)
    assert wrong.returncode == 2
    assert "did you mean 'price_order'?" in wrong.stderr


def test_folder_that_a_bundle_runs_in_is_private_and_gone_afterwards(telling: Path, elsewhere: Path) -> None:
    done = tuvl("run", str(telling), cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    context = result(done)["context"]
    assert context["mode"] == 0o700
    assert not Path(context["here"]).exists()


def test_folder_is_gone_after_a_run_that_was_stopped(tmp_path: Path, elsewhere: Path) -> None:
    wait = TELLING.replace("runner: tell", "runner: wait, seconds: 3600")
    path = shipped(write(tmp_path / "waiting", {"workflows/w.yaml": wait}), elsewhere)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with subprocess.Popen(
        command("run", str(path), "--events", "jsonl"),
        cwd=elsewhere,
        env=environment(TMPDIR=str(temporary)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stderr is not None
        started = next(line for line in run.stderr if '"step_started"' in line)
        assert started
        assert list(temporary.iterdir())
        run.send_signal(signal.SIGINT)
        out, _ = run.communicate(timeout=60)
    assert run.returncode == 130
    assert json.loads(out)["status"] == "aborted"
    assert not list(temporary.iterdir())


def test_altered_bundle_is_refused_before_anything_of_it_is_used(
    telling: Path, tmp_path: Path, elsewhere: Path
) -> None:
    proof = tmp_path / "proof"
    raw = telling.read_bytes()
    # As long as before, so that nothing but the bytes tells.
    evil = f'open({str(proof)!r}, "w")\n#'.encode()
    start = raw.index(b"import os, stat")
    telling.write_bytes(raw[:start] + evil + raw[start + len(evil) :])
    for words in (("run",), ("validate",), ("run", "--dry-run")):
        done = tuvl(*words, str(telling), cwd=elsewhere)
        assert done.returncode == 2
        assert "it.tuvl' is not used: " in done.stderr
        assert done.stdout == ""
    assert not proof.exists()


def test_pinned_digest_refuses_another_bundle(desk: Path, elsewhere: Path, tmp_path: Path) -> None:
    digest = release_of(tmp_path / "desk").bundle.digest
    words = ("run", str(desk), "--workflow", "price_order", "--set", "items=[1]", "--bundle-digest")
    assert tuvl(*words, digest, cwd=elsewhere).returncode == 0
    other = tuvl(*words, "sha256:" + "0" * 64, cwd=elsewhere)
    assert other.returncode == 2
    assert f"its digest is {digest}, and not the one asked for" in other.stderr
    assert other.stdout == ""


def test_what_a_run_keeps_outlives_the_bundle(tmp_path: Path, elsewhere: Path) -> None:
    project = write(
        tmp_path / "records",
        {
            "models/thing.yaml": """\
kind: ModelDefinition
metadata: { name: Thing }
spec:
  tablename: things
  fields: [{ name: id, type: integer, primary_key: true }, { name: label, type: string }]
""",
            "workflows/keep.yaml": """\
kind: Workflow
metadata: { name: keep }
spec:
  context: Thing
  steps:
    - { id: make, kind: ModelOp, model: Thing, operation: create, payload: { label: x } }
    - { id: all, kind: ModelOp, model: Thing, operation: list, output: things }
  output: things
""",
        },
    )
    path = shipped(project, elsewhere)
    first, second = (tuvl("run", str(path), cwd=elsewhere) for _ in range(2))
    assert [len(result(done)["output"]) for done in (first, second)] == [1, 2], first.stderr
    assert (elsewhere / ".tuvl" / "data.db").is_file()


def test_bundle_is_validated_under_its_own_name(desk: Path, elsewhere: Path) -> None:
    done = tuvl("validate", "it.tuvl", "--format", "json", cwd=elsewhere)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tuvl-bundle-" not in done.stdout + done.stderr
    files = {finding["file"] for finding in result(done)["findings"]}
    assert files
    assert all(file.startswith("it.tuvl/") for file in files)


@pytest.mark.parametrize("words", [("bounds",), ("mcp",)])
def test_command_that_takes_files_says_what_to_do_with_a_bundle(
    words: tuple[str, ...], desk: Path, elsewhere: Path
) -> None:
    done = tuvl(*words, str(desk), cwd=elsewhere)
    assert done.returncode == 2
    assert "is a bundle, and this command takes files: `unzip" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "it.tuvl", "--project", "."), "--project is not for bundles"),
        (("run", "w.yaml", "--workflow", "w"), "--workflow and --bundle-digest are for bundles"),
        (("run", "w.yaml", "--bundle-digest", "sha256:0"), "--workflow and --bundle-digest are for bundles"),
        (("run", "it.tuvl", "--bundle-digest", "0"), "takes sha256: and 64 hexadecimal digits"),
        (("run", "empty.tuvl"), "does not begin like one"),
        (("run", "nowhere.tuvl"), "nowhere.tuvl"),
        (("validate", "it.tuvl", "w.yaml"), "check it alone"),
        (("validate", "it.tuvl", "--fix"), "are not for bundles"),
    ],
)
def test_misuse_is_told(words: tuple[str, ...], message: str, desk: Path, elsewhere: Path) -> None:
    write(elsewhere, {"w.yaml": TELLING, "empty.tuvl": ""})
    done = tuvl(*words, cwd=elsewhere)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
