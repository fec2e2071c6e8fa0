"""Starting runs: whether a start may be, which run it is, and the same run for the same start said twice."""

import asyncio
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Literal, TypeAlias
from uuid import uuid4

from tuvl.clock import Clock
from tuvl.data.access_rows import StartKey
from tuvl.data.run_records import StoreAccess
from tuvl.dataclass import dataclass
from tuvl.engine.admission import check_start, initial_context
from tuvl.errors import ConfigError, InputError, TuvlError, UsageError
from tuvl.hosting.asking import DatabaseAway
from tuvl.hosting.requests import StartRequest
from tuvl.principal import Principal
from tuvl.server.catalogue import Offered
from tuvl.server.durable_runs import DurableRun, DurableRuns
from tuvl.server.live_runs import LiveRun, LiveRuns
from tuvl.server.meters import Meters
from tuvl.server.problems import Problem
from tuvl.values import JsonObject, JsonValue, canonical

Mode: TypeAlias = Literal["sync", "detached", "stream"]
"""How the client waits: for the result, not at all, or for every event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A start, as it was asked for."""

    offered: Offered
    input: JsonObject
    mode: Mode
    principal: Principal
    durable: bool | None = None
    timeout_s: float | None = None
    trace: bool = False
    key: str | None = None
    """What makes several requests one start."""
    address: str | None = None
    """Where it came from, when nothing else tells its caller from others."""

    @property
    def digest(self) -> str:
        """Tells this start from another one under the same key; how its client waits makes no other one of it."""
        said: JsonObject = {
            "workflow": self.offered.name,
            "input": self.input,
            "durable": self.durable,
            "timeout_s": self.timeout_s,
            "trace": self.trace,
        }
        return hashlib.sha256(canonical(said).encode()).hexdigest()

    @property
    def is_settled(self) -> bool:
        """Whether the run is durable or not however its client waits."""
        return self.offered.must_be_durable or self.durable is not None

    @property
    def of_stranger(self) -> bool:
        """Whether nobody can tell its caller from others: an address may be that of a proxy which many are behind."""
        return self.address is not None

    @property
    def key_digest(self) -> str:
        """What is kept of the key: of whom it is, and what it says.

        That of a stranger counts together with what is asked: no key of theirs is taken for another request, which
        would tell that somebody has used it, or keep others from using it.
        """
        return kept_key(self.principal, self.key, *([] if self.address is None else [self.address, self.digest]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A run that was started before, and that is not in this process or is a stranger's."""

    run_id: str


Started: TypeAlias = LiveRun | DurableRun | Known


def checked_key(key: str | None) -> str | None:
    """Return what makes several starts one; raises `Problem` for what cannot be a key."""
    if key is not None and not (0 < len(key) <= _LONGEST_KEY and key.isascii() and key.isprintable()):
        raise Problem(400, "key-unreadable", f"an Idempotency-Key has 1 to {_LONGEST_KEY} printable ASCII characters")
    return key


_LONGEST_KEY = 200

BEGUN_WITHIN_S = 10.0
"""Seconds after which a run whose key is taken would be on record, if it came to that."""

LOOK_S = 0.1
"""Seconds between two looks whether it is."""


def kept_key(of: Principal, key: str | None, *more: JsonValue) -> str:
    """Return what is kept of a key: of whom it is, and what it says."""
    of_whom: list[JsonValue] = [of.tenant, of.id, key, *more]
    return hashlib.sha256(canonical(of_whom).encode()).hexdigest()


def check_body(claimed: StartKey, body: str) -> None:
    """Raise `Problem` for a key that came with something else before."""
    if claimed.body != body:
        said = "this Idempotency-Key came with another request before; use a new one for this"
        raise Problem(422, "key-reused", said)


def check_rights(offered: Offered, principal: Principal) -> None:
    """Raise `Problem` for somebody who may not start a workflow."""
    missing = principal.lacks(scope=offered.plan.required_scope, group=offered.plan.required_group)
    if missing is not None:
        raise Problem(403, "right-missing", f"workflow {offered.name!r} asks for {missing}")


class Starts:
    """Starts runs of one server."""

    def __init__(
        self,
        live: LiveRuns,
        durable: DurableRuns,
        access: StoreAccess,
        *,
        meters: Meters,
        clock: Clock,
        run_timeout_s: float,
    ) -> None:
        self._live = live
        self._durable = durable
        self._access = access
        self._meters = meters
        self._clock = clock
        self._run_timeout_s = run_timeout_s
        self._keys: dict[str, asyncio.Lock] = {}
        self.draining = False
        """Whether the server closes down: nothing new begins."""

    async def start(self, order: Order) -> Started:
        """Start a run, or find the one that was started so before; raises `Problem`."""
        self._check_open()
        self._check(order)
        if order.key is None:
            return await self._begin(order, uuid4().hex)
        with self.lock(order.key_digest) as lock:
            async with lock:
                return await self._once(order)

    async def _once(self, order: Order) -> Started:
        """Start a run, or find it; of one that a stranger began before, no more is told than that it is there."""
        claimed = await self._claimed(order, uuid4().hex)
        if claimed.is_new:
            return await self._first(order, claimed.run_id)
        while True:
            run = await self._begun_before(claimed, order)
            if run is not None:
                return Known(run_id=run.run_id) if order.of_stranger else run
            # Whoever took the key has begun nothing. It may have been let go of meanwhile, and taken once more.
            taken, claimed = claimed, await self._claimed(order, claimed.run_id)
            if claimed.run_id == taken.run_id:
                break
        begun = await self._begin(order, claimed.run_id)
        # Another process may have begun it at this very moment.
        told_no_more = order.of_stranger and isinstance(begun, DurableRun)
        return Known(run_id=begun.run_id) if told_no_more else begun

    async def _claimed(self, order: Order, run_id: str) -> StartKey:
        keys = self._access.store.access
        claimed = await keys.claim(order.key_digest, body=order.digest, run_id=run_id, at=self._clock.now())
        check_body(claimed, order.digest)
        return claimed

    async def _first(self, order: Order, run_id: str) -> LiveRun | DurableRun:
        """Start the run of a key that nobody had taken, and let go of the key where surely nothing begins."""
        try:
            return await self._begin(order, run_id)
        except DatabaseAway:
            raise  # it may have been accepted all the same: whoever comes again finds it, or begins that very run
        except (Problem, TuvlError):
            await self._access.store.access.release(order.key_digest)
            raise

    async def _begun_before(self, claimed: StartKey, order: Order) -> Started | None:
        """Find the run of a key that is taken; `None` when whoever took it has begun none, and will not."""
        until = claimed.at + timedelta(seconds=BEGUN_WITHIN_S)
        while True:
            run = self._live.find(claimed.run_id, order.principal)
            if run is not None and run.problem is None:
                run.detached = run.detached or order.mode == "detached"
                run.attached += order.mode != "detached" and not order.of_stranger
                return run
            durable = await self._durable.find(claimed.run_id, order.offered.name, order.principal)
            if durable is not None:
                return durable
            if await self._access.store.show(claimed.run_id, order.principal) is not None:
                return Known(run_id=claimed.run_id)
            # To begin a durable run twice begins it once; but it may be another process's that is not durable.
            if self._clock.now() >= until or (self.is_durable(order) and order.is_settled):
                return None
            await asyncio.sleep(LOOK_S)

    def is_durable(self, order: Order) -> bool:
        """Whether a run is kept in a way that it outlives this process: as asked, and where nobody waits for it."""
        if order.is_settled:
            return order.offered.must_be_durable or order.durable is True
        return order.mode == "detached" and self._durable.there

    async def _begin(self, order: Order, run_id: str) -> LiveRun | DurableRun:
        if self.is_durable(order):
            run = await self._durable.start(
                StartRequest(
                    workflow=order.offered.name,
                    input=order.input,
                    principal=order.principal,
                    timeout_s=order.timeout_s,
                    trace=order.trace,
                    run_id=run_id,
                ),
                # Whoever has given a key comes again, perhaps to another server: nobody knows who still waits.
                detached=order.mode == "detached" or order.key is not None,
            )
            self._meters.runs_started.labels(order.offered.name, "true").inc()
            return run
        return self._begin_plain(order, run_id)

    def _begin_plain(self, order: Order, run_id: str) -> LiveRun:
        if not self._live.has_room:
            self._meters.refused.labels("room").inc()
            raise Problem(503, "no-room", "as many runs go on as this server takes", headers={"Retry-After": "1"})
        run = self._live.begin(
            order.offered.plan,
            order.input,
            run_id=run_id,
            principal=order.principal,
            timeout_s=min(order.timeout_s or self._run_timeout_s, self._run_timeout_s),
            trace=order.trace,
            detached=order.mode == "detached",
        )
        run.attached += order.mode != "detached"
        self._meters.runs_started.labels(order.offered.name, "false").inc()
        return run

    def _check_open(self) -> None:
        if self.draining:
            raise Problem(503, "closing", "the server is closing down", headers={"Retry-After": "5"})

    def _check(self, order: Order) -> None:
        """See that the run can begin, before anything is kept of it."""
        plan, principal = order.offered.plan, order.principal
        check_rights(order.offered, principal)
        try:
            check_start(plan, principal)
            initial_context(plan, order.input)
        except InputError as error:
            raise Problem(422, "input-refused", str(error)) from None
        except (ConfigError, UsageError) as error:
            raise Problem(409, "not-runnable", str(error)) from None

    @contextmanager
    def lock(self, key: str) -> Iterator[asyncio.Lock]:
        """Give the lock under which one key is looked at, and forget it when nobody waits for it."""
        lock = self._keys.setdefault(key, asyncio.Lock())
        try:
            yield lock
        finally:
            if not lock.locked() and self._keys.get(key) is lock:
                del self._keys[key]
