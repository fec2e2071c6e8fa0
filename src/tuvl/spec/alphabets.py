"""What names and ids may look like; imports nothing, so that contracts and plain checks share it."""

STEP_ID = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"
STEP_ID_WORDS = "a letter, then letters, digits, `_` and `-`, 64 characters at most"

NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
NAME_WORDS = "a letter or digit, then letters, digits, `_`, `.` and `-`"

IDENTIFIER = r"^[A-Za-z_][A-Za-z0-9_]{0,62}$"
IDENTIFIER_WORDS = "a letter or `_`, then letters, digits and `_`, 63 characters at most"

ALPHABETS: frozenset[str] = frozenset({STEP_ID, NAME, IDENTIFIER})
"""The patterns that name things; a value outside them is a bad id rather than a wrong type."""
