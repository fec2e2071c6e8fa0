"""Values as they may be shown: short, on one line, and without anything that may be secret."""

import re
from difflib import SequenceMatcher

from tuvl.analysis.credentials import masked_text, masked_value
from tuvl.redaction import MASK, redact, redact_json
from tuvl.values import canonical, dump_json, shorten

MOST = 160
"""Characters of one value."""

_CONTEXT = 3
_MOST_WORDS = 3000
_DEFAULTS = re.compile(r"\$\{([^}:]*):[^}]*\}")


def value_text(value: object, path: tuple[str | int, ...] = ()) -> str:
    """Write a value short and without secrets; `path` is where it stands, whose names say what is secret."""
    if isinstance(value, str):
        return shorten(_masked_text(value, _names(path)), MOST) if value else '""'
    return shorten(_texts(value, path), MOST)


def _masked_text(text: str, names: tuple[str, ...]) -> str:
    shown = masked_text(text, names, MASK)
    return redact(_DEFAULTS.sub(lambda hole: f"${{{hole[1]}:{MASK}}}", shown))


def _names(path: tuple[str | int, ...]) -> tuple[str, ...]:
    return tuple(part for part in path if isinstance(part, str))


def both(
    old: object, new: object, old_path: tuple[str | int, ...], new_path: tuple[str | int, ...]
) -> tuple[str | None, str | None]:
    """Write what was and what is, short; of long texts the words that differ. `None` stands for nothing there."""
    if isinstance(old, str) and isinstance(new, str) and max(len(old), len(new)) > MOST // 2:
        return word_diff(_masked_text(old, _names(old_path)), _masked_text(new, _names(new_path)))
    if isinstance(old, dict | list) and isinstance(new, type(old)):
        before, after = _texts(old, old_path), _texts(new, new_path)
        if max(len(before), len(after)) > MOST:
            return word_diff(before, after)
    shown = (
        None if old is None else value_text(old, old_path),
        None if new is None else value_text(new, new_path),
    )
    if shown[0] == shown[1] and canonical_differs(old, new):
        return (f"{shown[0]} (one that is not shown)", f"{shown[1]} (another)")
    return shown


def canonical_differs(old: object, new: object) -> bool:
    """Whether two JSON values differ."""
    return canonical(old) != canonical(new)  # type: ignore[arg-type]  # documents hold JSON


def _texts(value: object, path: tuple[str | int, ...]) -> str:
    # Documents hold JSON; a key may hold a secret that was registered, too.
    masked = masked_value(value, _names(path), _masked_text)  # type: ignore[arg-type]
    return dump_json(redact_json(masked))


def word_diff(old: str, new: str) -> tuple[str, str]:
    """Return the words that differ, each with its neighbours; `…` stands for what is the same."""
    before, after = old.split(), new.split()
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    one, other = before[start : len(before) - end], after[start : len(after) - end]
    if not one and not other:
        return ("the same words", "with other white space") if old != new else (shorten(old, MOST), shorten(new, MOST))
    if max(len(one), len(other)) > _MOST_WORDS:
        return f"{len(before):,} words", f"{len(after):,} words, most of them others"
    pieces = SequenceMatcher(None, one, other, autojunk=False).get_opcodes() if _small(one, other) else []
    changed = [piece for piece in pieces if piece[0] != "equal"]
    if not changed:
        changed = [("replace", 0, len(one), 0, len(other))]
    return (
        _around(before, [(start + piece[1], start + piece[2]) for piece in changed]),
        _around(after, [(start + piece[3], start + piece[4]) for piece in changed]),
    )


def _small(one: list[str], other: list[str]) -> bool:
    return len(one) * len(other) <= 250_000


def _around(words: list[str], spans: list[tuple[int, int]]) -> str:
    kept: list[str] = []
    shown_to = 0
    for begin, end in spans:
        first = max(shown_to, begin - _CONTEXT)
        if first > shown_to:
            kept.append("…")
        last = min(len(words), end + _CONTEXT)
        kept += words[first:last]
        shown_to = max(shown_to, last)
    if shown_to < len(words):
        kept.append("…")
    return shorten(" ".join(kept), MOST)
