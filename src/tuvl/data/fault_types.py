"""Types of the errors of a database that is at fault, and not what it was asked for."""

UNREACHABLE = "database_unreachable"
"""It cannot be opened or reached: nothing was done in it."""

BUSY = "database_busy"
"""Somebody else held it for too long."""

BROKEN = "database_broken"
"""The connection of a session was lost: whether its last statement had an effect is unknown."""
