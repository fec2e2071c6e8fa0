"""Texts that come from outside, as every store can keep them; PostgreSQL knows no NUL."""


def is_storable(*texts: str | None) -> bool:
    """Tell whether a store can hold texts; what it cannot hold is not in it, whatever is asked."""
    return all(text is None or text == storable(text) for text in texts)


def storable(text: str) -> str:
    """Return a text without what no store can keep: a pasted NUL must not undo what the rest says."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
