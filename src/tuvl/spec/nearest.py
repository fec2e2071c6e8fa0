"""Did you mean: the known word nearest to an unknown one."""

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that `word` is most likely a misspelling of, or `None` when none is near.

    Case, `-` and `_` are not counted; else up to one edit in three letters is near (an edit adds, drops, changes or
    swaps letters), four at most.
    """
    folded = _fold(word)
    if not folded or len(word) > 64:
        return None
    best: str | None = None
    best_distance = min(4, max(1, len(folded) // 3)) + 1
    for candidate in known:
        distance = _distance(folded, _fold(candidate), best_distance)
        if distance < best_distance:
            best, best_distance = candidate, distance
    return best


def _fold(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "")


def _distance(left: str, right: str, bound: int) -> int:
    """Return the edit distance with swaps, or `bound` as soon as it cannot be less."""
    if abs(len(left) - len(right)) >= bound:
        return bound
    before: list[int] = []
    above = list(range(len(right) + 1))
    for row, letter in enumerate(left, start=1):
        current = [row]
        for column, other in enumerate(right, start=1):
            cost = min(above[column] + 1, current[column - 1] + 1, above[column - 1] + (letter != other))
            if row > 1 and column > 1 and letter == right[column - 2] and left[row - 2] == other:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        if min(current) >= bound:
            return bound
        before, above = above, current
    return min(above[-1], bound)
