"""In which order the entries of a record are begun, as far as their names tell it."""

_LANES = ("[", "tool.")
"""How the parts begin of what may go on beside others: an item of a list, a tool call."""


def is_before(entry: str, other: str) -> bool:
    """Tell whether an entry has surely ended before another one was begun that comes after it; both are whole names.

    Of what is in a lane nobody knows it of entries outside of it: the two may have gone on beside each other.
    """
    places, others = entry.split("/"), other.split("/")
    for place, another in zip(places, others, strict=False):
        if place != another:
            return not another.startswith(_LANES)
    return True
