"""The heap of a process that goes on for a while: what it starts with is no garbage, and is not looked at again."""

import gc

_OBJECTS = 10_000
"""New objects after which the collector looks for cycles; a turn of an agent makes some hundred, nearly none in one."""


def settle_heap() -> None:
    """Set apart what is there by now, and have the collector look at what comes less often.

    Hundreds of runs at once hold hundreds of thousands of objects, and Python's own thresholds would go through all of
    them several times a second: a third of the time of such a process.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS, 20, 50)
    gc.enable()
