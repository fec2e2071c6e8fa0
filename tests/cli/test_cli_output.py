"""Where documents go: files are replaced whole, what is no file is written to."""

import os
import stat
import threading
from pathlib import Path

from tuvl.cli.output import deliver


def test_a_pipe_named_as_output_gets_the_document_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    assert deliver("{}\n", str(pipe))
    reader.join(timeout=20)
    assert got == ["{}\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_file_named_as_output_is_replaced_whole(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    file.write_text("old", encoding="utf-8")
    assert deliver("new", str(file))
    assert file.read_text(encoding="utf-8") == "new"
    assert list(tmp_path.iterdir()) == [file]
