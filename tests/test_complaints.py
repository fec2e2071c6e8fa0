"""What the log says of faults that end nothing: a traceback for mistakes of code, a word for full disks."""

import errno
import os
import sqlite3
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from tuvl.clock import SystemClock
from tuvl.complaints import in_a_word, traceback_of
from tuvl.data.run_records import RunRecords, StoreAccess
from tuvl.data.run_rows import RunRow
from tuvl.data.run_store import RunStore
from tuvl.data.secure import SecureValues
from tuvl.errors import StepError
from tuvl.principal import Principal

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (FULL, "OSError, no space left on device"),
        (sqlite3.OperationalError("database or disk is full"), "OperationalError"),
        (sa.exc.OperationalError("INSERT secret", {}, FULL), "OperationalError"),
        (StepError("the store of runs is away", type="data"), "StepError"),
        (ConnectionResetError(), "ConnectionResetError"),
    ],
)
def test_what_files_and_databases_say_is_told_in_a_word(error, word):
    assert in_a_word(error) == word
    assert traceback_of(error) is None


def test_a_mistake_in_code_is_told_with_where_it_is():
    mistake = KeyError("secret")
    assert in_a_word(mistake) == "KeyError"
    assert traceback_of(mistake) is mistake


async def test_a_run_that_cannot_be_closed_in_its_store_is_one_line_of_the_log(tmp_path, monkeypatch, caplog):
    async def full(self: RunStore, run_id: str, **given: object) -> None:
        raise StepError("the disk is full", type="data") from sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(RunStore, "finish", full)
    access = StoreAccess(str(tmp_path), None)
    run = RunRow(run_id="r", workflow="w", schema_version="v1", principal=Principal(), started_at=datetime.now(UTC))
    records = RunRecords(access, run, secure=SecureValues(), clock=SystemClock())
    try:
        await records.open(again=False)
        await records.interrupted()
    finally:
        await access.aclose()
    (record,) = caplog.records
    assert record.getMessage() == "run 'r' could not be closed in the store of runs: StepError"
    assert not record.exc_info
