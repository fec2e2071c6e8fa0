"""What a durable run writes to our own file is on the disk when it is committed; other runs do not wait for that."""

from sqlalchemy import text

from tuvl.data.engines import open_engine
from tuvl.data.location import own_file
from tuvl.data.reaching import Reached
from tuvl.data.step_session import open_session
from tuvl.spec.data import Pooling

NORMAL, FULL = 1, 2


async def test_what_a_durable_run_writes_outlives_a_loss_of_power(tmp_path):
    pooling = Pooling(size=1, max_overflow=0)  # one connection, whose setting must not stay
    opened = open_engine(own_file(str(tmp_path), "data.db"), pooling, Reached(what="it", elsewhere="elsewhere"))
    found = []
    for durable in (False, True, False):
        session = open_session(opened.engine, writes=True, durable=durable)
        found.append(await session.scalar(text("PRAGMA synchronous")))
        await session.discard()
    await opened.aclose()
    assert found == [NORMAL, FULL, NORMAL]
