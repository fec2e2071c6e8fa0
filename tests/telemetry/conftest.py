"""Spans and counters kept in memory, recorded from the beginning of a test to its end."""

from collections.abc import Iterator

import pytest

from tests.telemetry.recorded import Recorded


@pytest.fixture
def recorded() -> Iterator[Recorded]:
    recording = Recorded()
    recording.telemetry.start()
    yield recording
    recording.telemetry.close()
