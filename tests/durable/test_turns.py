"""Writers of one SQLite file come in turn, however often one of them writes."""

import threading

import sqlalchemy as sa

from tuvl.durable.sqlite_file import open_sqlite
from tuvl.durable.turns import Turns, turns_of


def test_whoever_comes_first_is_next_and_who_has_waited_too_long_goes_without():
    turns, came = Turns(), []
    assert turns.take(0)
    assert not turns.take(0.001)

    def write(name: str) -> None:
        with turns.one(60):
            came.append(name)

    writers = []
    for number, name in enumerate("abc", start=1):
        writers.append(threading.Thread(target=write, args=(name,)))
        writers[-1].start()
        while len(turns._waiting) < number:
            threading.Event().wait(0.001)
    turns.end()
    for writer in writers:
        writer.join()
    assert came == ["a", "b", "c"]
    assert turns.take(0), "the last one has ended its turn"


def test_a_connection_has_its_turn_from_its_first_change_until_it_is_given_back(tmp_path):
    engine = open_sqlite(str(tmp_path / "file.sqlite"))
    turns = turns_of(engine)
    with engine.connect() as connection:
        connection.execute(sa.text("SELECT 1"))
        with turns.one(0):
            assert turns._taken, "who reads needs none"
        connection.execute(sa.text("CREATE TABLE t (n INTEGER)"))
        connection.execute(sa.text("INSERT INTO t VALUES (1)"))
        assert not turns.take(0)
    assert turns.take(0)
    turns.end()
    with engine.connect() as connection:
        connection.execute(sa.text("DELETE FROM t"))
        connection.invalidate()
        assert turns.take(0), "a lost connection keeps nobody out"
        turns.end()
        connection.rollback()
    engine.dispose()
