"""The PostgreSQL server that tests share: it runs for as long as anybody uses it."""

import json
from pathlib import Path

from tests.support.postgres import Server, shared_server


def test_who_joins_twice_and_leaves_once_still_has_its_server(postgres: Server, meeting_place: Path) -> None:
    note = meeting_place / "postgres.json"
    with shared_server(meeting_place) as again:
        assert again == postgres
    assert json.loads(note.read_text(encoding="utf-8"))["folder"] == str(postgres.folder)
    with postgres.database() as url:
        assert str(postgres.folder) in url
