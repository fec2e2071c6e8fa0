"""`tuvl.lock` on disk: the same bytes each time, no secrets, and refused when it is not what was written."""

import os
import re
from pathlib import Path

import pytest

from tests.locking.lock_project import FILES, TOOLS, lock_of, project, read
from tuvl.errors import ConfigError
from tuvl.locking.lock import Section
from tuvl.locking.lock_file import LOCK_NAME, NewerLockError, lock_text, read_lock, write_lock
from tuvl.locking.take import take_lock
from tuvl.locking.tools import ToolSchema, locked_tools
from tuvl.project.index import ProjectIndex
from tuvl.redaction import register_secret


def test_lock_holds_one_of_everything_and_is_read_back_as_it_was(tmp_path: Path) -> None:
    lock = take_lock(project(tmp_path), mcp_tools=TOOLS)
    assert [section for section in Section if not lock.section(section)] == []
    assert write_lock(tmp_path, lock)
    assert read_lock(tmp_path) == lock
    assert not write_lock(tmp_path, lock), "the bytes are as they were"


def test_project_without_a_lock_has_none(tmp_path: Path) -> None:
    assert read_lock(tmp_path) is None


def test_same_project_elsewhere_gives_the_same_bytes_without_the_way_there(tmp_path: Path, monkeypatch) -> None:
    one, two = tmp_path / "one", tmp_path / "two" / "deeper"
    for root in (one, two):
        project(root)
    monkeypatch.chdir(one)
    first = lock_text(lock_of(Path()))
    monkeypatch.chdir(tmp_path)
    assert lock_text(lock_of(two)) == first
    assert str(tmp_path) not in first


def test_texts_of_several_lines_are_written_line_by_line(tmp_path: Path) -> None:
    project(tmp_path)
    text = lock_text(lock_of(tmp_path))
    assert "      text: |\n        Be kind.\n        Be brief.\n        Sign it.\n" in text


def test_no_secret_reaches_the_lock_and_variables_stay_variables(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-expanded-0123456789abcdef01")
    monkeypatch.setenv("CLOCK_KEY", "expanded-clock-key")
    preset = FILES["llms/main.yaml"].replace("${OPENAI_API_KEY}", "hunter2")
    source = FILES["datasources/main.yaml"].replace("sqlite:///shop.db", "postgresql://me:${DB_PASSWORD:pa55}@h/db")
    url = (
        FILES["llms/main.yaml"]
        .replace("name: main", "name: own")
        .replace("temp", "api_base: 'https://me:pw@h/v1', temp")
    )
    steps = FILES["workflows/triage.yaml"].replace("Answer kindly.", "Use AKIAABCDEFGHIJKLMNOP.")
    files = {
        "llms/main.yaml": preset,
        "datasources/main.yaml": source,
        "llms/own.yaml": url,
        "workflows/triage.yaml": steps,
    }
    project(tmp_path, **files)
    text = lock_text(lock_of(tmp_path))
    for secret in ("hunter2", "pa55", "me:pw", "AKIA", "expanded"):
        assert secret not in text
    assert 'CLOCK_KEY: "${CLOCK_KEY}"' in text
    assert 'connection: "postgresql://me:${DB_PASSWORD:(secret)}@h/db"' in text


def test_secret_that_a_server_repeats_is_masked(tmp_path: Path) -> None:
    register_secret("repeated-secret-value")
    listing = {
        "description": "Uses repeated-secret-value \ud800.",
        "inputSchema": {"type": "object"},
        "outputSchema": 7,
    }
    schema = ToolSchema.of(listing)
    assert schema == ToolSchema(description="Uses *** \ufffd.", input_schema={"type": "object"})


def test_tools_are_read_out_of_a_lock_as_they_were_put_in(tmp_path: Path) -> None:
    schema = ToolSchema(description=None, input_schema={"type": "object"}, output_schema={"type": "string"})
    lock = take_lock(project(tmp_path), mcp_tools={"clock@1": {"get_time": schema, "unused": schema}})
    assert locked_tools(lock) == {"clock@1": {"get_time": schema}}


DAMAGES = {
    "empty": (lambda text: "", "is empty"),
    "marks of a merge": (lambda text: f"<<<<<<< ours\n{text}=======\n{text}>>>>>>> theirs\n", "merge"),
    "cut off": (lambda text: text[: len(text) * 2 // 3], "was cut off"),
    "cut off between entries": (lambda text: text[: text.index("\ndata_models:") + 1], "was cut off"),
    "another temperature": (lambda text: text.replace("temperature: 0.2", "temperature: 0.9"), "changed by hand"),
    "another digest": (lambda text: re.sub(r"digest: sha256:\w", "digest: sha256:z", text, count=1), "changed by hand"),
    "an entry less": (lambda text: re.sub(r"nodes:\n(  .*\n)+", "", text), "was cut off or changed by hand"),
    "a section of its own": (lambda text: f"{text}more: 1\n", "a lock has no 'more'"),
    "a list": (lambda text: "- 1\n", "is no lock"),
    "another document": (lambda text: "kind: Workflow\n", "is no lock"),
    "two documents": (lambda text: f"{text}---\n{text}", "is no lock"),
    "no YAML": (lambda text: f"{text}: [\n", "cannot be read"),
    "version none": (lambda text: text.replace("lock_version: 1", "lock_version: 0"), "no tuvl writes"),
}


@pytest.mark.parametrize(("damage", "said"), DAMAGES.values(), ids=list(DAMAGES))
def test_damaged_lock_is_refused_with_its_reason(damage, said: str, tmp_path: Path) -> None:
    project(tmp_path)
    with pytest.raises(ConfigError, match=said) as error:
        read(damage(lock_text(lock_of(tmp_path))))
    assert "tuvl lock" in str(error.value)


@pytest.mark.parametrize(
    "damage",
    [*(damage for damage, _ in DAMAGES.values()), lambda text: text[:10], lambda text: text.split("\n", 4)[-1]],
    ids=[*DAMAGES, "all but ten bytes cut off", "without its head"],
)
def test_what_is_said_of_a_damaged_lock_works(damage, tmp_path: Path) -> None:
    project(tmp_path)
    sound = lock_of(tmp_path)
    path = tmp_path / LOCK_NAME
    path.write_text(damage(lock_text(sound)), encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        read_lock(tmp_path)
    if "move it away" in str(error.value):
        with pytest.raises(ConfigError, match="move it away"):
            write_lock(tmp_path, sound)
        path.unlink()
    write_lock(tmp_path, sound)
    assert read_lock(tmp_path) == sound


def test_lock_of_a_newer_tuvl_is_refused_by_a_name_of_its_own(tmp_path: Path) -> None:
    project(tmp_path)
    with pytest.raises(NewerLockError, match="upgrade"):
        read(lock_text(lock_of(tmp_path)).replace("lock_version: 1", "lock_version: 2"))


def test_bytes_that_are_no_text_and_a_pipe_are_refused(tmp_path: Path) -> None:
    path = tmp_path / LOCK_NAME
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="no UTF-8"):
        read_lock(tmp_path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="pipe"):
        read_lock(tmp_path)


@pytest.mark.parametrize("levels", range(50, 70))
def test_lock_that_could_not_be_read_back_is_not_written(levels: int, tmp_path: Path) -> None:
    deep: dict = {"type": "object"}
    for _ in range(levels):
        deep = {"x": deep}
    schema = ToolSchema(description=None, input_schema=deep)
    lock = take_lock(project(tmp_path), mcp_tools={"clock@1": {"get_time": schema}})
    try:
        write_lock(tmp_path, lock)
    except ConfigError as error:
        said = str(error)
    else:
        said = ""
    assert said.endswith("nothing was written") is (levels >= 59)
    assert read_lock(tmp_path) == (None if said else lock)


def test_line_breaks_of_windows_and_a_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    project(tmp_path)
    before = lock_of(tmp_path)
    for name in FILES:
        path = tmp_path / name
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert lock_of(tmp_path).digest == before.digest


def test_documents_that_are_switched_off_are_no_part_of_it(tmp_path: Path) -> None:
    off = FILES["llms/main.yaml"].replace("kind:", "enabled: false\nkind:")
    lock = take_lock(project(tmp_path, **{"llms/main.yaml": off}), mcp_tools={})
    assert list(lock.section(Section.PRESETS)) == ["scripted"]


def test_document_in_another_schema_version_has_an_entry_of_its_own(tmp_path: Path) -> None:
    second = FILES["models/order.yaml"].replace("name: Order", "name: Order, schema_version: v2")
    lock = take_lock(project(tmp_path, **{"models/order2.yaml": second}), mcp_tools={})
    assert sorted(lock.section(Section.DATA_MODELS)) == ["Order", "Order v2"]


def test_nothing_of_the_project_is_run(tmp_path: Path) -> None:
    project(tmp_path, **{"nodes/prices.py": "raise SystemExit('imported')\n"})
    assert list(take_lock(ProjectIndex(tmp_path), mcp_tools={}).section(Section.NODES)) == ["nodes/prices.py"]
