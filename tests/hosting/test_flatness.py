"""Workers that have performed ten thousand runs need no more room for it; the long form only, for it takes minutes."""

import os

from benchmarks.workers import flatness

RUNS, LOOKS = 10_000, 10
SETTLED = 3
"""Looks until all that a worker keeps is there."""

if os.environ.get("TUVL_SOAK"):

    def test_memory_and_threads_of_workers_stay_flat_over_ten_thousand_runs(tmp_path):
        seen = flatness(tmp_path, RUNS, looks=LOOKS)
        _, memory, threads = seen[SETTLED - 1]
        print(seen)
        assert max(then for _, then, _ in seen) <= memory * 1.1
        assert max(then for _, _, then in seen) <= threads + 2
