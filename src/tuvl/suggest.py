"""Did-you-mean: the known name that a misspelt one most likely means."""

from collections.abc import Iterable

SHORTEST_BEGINNING = 3
"""Characters that the beginning of a word must have to mean it."""


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate nearest to `word`, when it is near enough to be meant; the first of several equally near ones.

    Near is one edit for up to four characters, two up to eight, else three; an edit inserts, drops or changes one
    character or swaps two neighbours. Case, `-`/`_` and the dashes of an option count for nothing. A word of three
    characters or more that only one candidate begins with means that one.
    """
    wanted = _plain(word)
    allowed = 1 if len(wanted) <= 4 else 2 if len(wanted) <= 8 else 3
    best: str | None = None
    known = tuple(candidates)
    begun = [candidate for candidate in known if _plain(candidate).startswith(wanted) and candidate != word]
    if len(begun) == 1 and len(wanted) >= SHORTEST_BEGINNING:
        return begun[0]
    for candidate in known:
        if candidate == word:
            continue
        plain = _plain(candidate)
        if abs(len(plain) - len(wanted)) > allowed:
            continue
        distance = _distance(wanted, plain, allowed)
        # A word that shares nothing but its length is no misspelling of a short one.
        if distance < max(len(plain), len(wanted)) and distance <= allowed:
            best, allowed = candidate, distance - 1
            if allowed < 0:
                break
    return best


def did_you_mean(word: str, candidates: Iterable[str]) -> str | None:
    """A hint such as ``did you mean 'lookup_order'?``, or `None` when nothing is near."""
    match = closest(word, candidates)
    return None if match is None else f"did you mean {match!r}?"


def certain(word: str, candidates: Iterable[str]) -> str | None:
    """The one candidate that a misspelt word must mean; `None` when another one could be meant as well.

    Certain is one slip in a word of four characters or more, two in one of eight or more, with no other candidate
    near enough to be guessed.
    """
    known = set(candidates)
    best = closest(word, known)
    if best is None or closest(word, known - {best}) is not None:
        return None
    plain, wanted = _plain(best), _plain(word)
    slips = 0 if len(wanted) < 4 else 1 if len(wanted) < 8 else 2
    return best if _distance(wanted, plain, slips) <= slips else None


def _plain(word: str) -> str:
    return word[:100].lstrip("-").lower().replace("-", "_")


def _distance(left: str, right: str, limit: int) -> int:
    """Edits between two words (optimal string alignment); anything above `limit` is reported as `limit + 1`."""
    if left == right:
        return 0
    before: list[int] = []
    above = list(range(len(right) + 1))
    for row, a in enumerate(left, 1):
        line = [row]
        for column, b in enumerate(right, 1):
            cost = min(above[column] + 1, line[-1] + 1, above[column - 1] + (a != b))
            if row > 1 and column > 1 and a == right[column - 2] and left[row - 2] == b:
                cost = min(cost, before[column - 2] + 1)
            line.append(cost)
        if min(line) > limit:
            return limit + 1
        before, above = above, line
    return min(above[-1], limit + 1)
