"""Token buckets: how often somebody may ask, on the average and at once."""

from collections import OrderedDict

from tuvl.clock import Clock
from tuvl.dataclass import dataclass

_MOST_KNOWN = 10_000


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class RateLimiter:
    """A bucket for each key; a key that was not heard of for long begins with a full one."""

    def __init__(self, *, rate: float | None, burst: int, clock: Clock) -> None:
        """Let a key ask `rate` times a second, `burst` times at once; without a rate, as often as it likes."""
        self._rate = rate
        self._burst = float(burst)
        self._clock = clock
        self._buckets: OrderedDict[object, _Bucket] = OrderedDict()

    def take(self, key: object) -> float:
        """Take one from a bucket; returns 0, or the seconds after which there will be one again."""
        if self._rate is None:
            return 0.0
        now = self._clock.monotonic()
        bucket = self._buckets.pop(key, None) or _Bucket(self._burst, now)
        bucket.left = min(self._burst, bucket.left + (now - bucket.at) * self._rate)
        bucket.at = now
        self._buckets[key] = bucket
        if len(self._buckets) > _MOST_KNOWN:
            self._buckets.popitem(last=False)
        if bucket.left < 1.0:
            return (1.0 - bucket.left) / self._rate
        bucket.left -= 1.0
        return 0.0
