"""Compares what two states of a preset say its model costs: a price is believed by every bound on dollars."""

from tuvl.analysis.language_models import ModelFacts, preset_facts
from tuvl.changes.findings import Findings, Spot
from tuvl.changes.shown import canonical_differs
from tuvl.changes.site import Doc

_SPOT = Spot(("spec", "price"), ("spec", "price"), "price")
_ROUNDING = 1e-9
"""Share of a price that a division by a million may have taken."""


def compare_prices(findings: Findings, old: Doc, new: Doc) -> None:
    """Tell of another `price:`, by the dollars that hold with it: the preset's, else those of the table.

    Where a token counts for less, every bound in dollars lets more through. Where the preset names another model as
    well, a lower price is believed as far down as the table has it for that model.
    """
    was, now = old.spec.get("price"), new.spec.get("price")
    if not canonical_differs(was, now):
        return
    if was == now:  # as 1 and 1.0 are
        findings.spelled_otherwise = True
        return
    before, after = preset_facts(old.name, old.spec), preset_facts(new.name, new.spec)
    code, what = "price-lowered", "price"
    if before.priced != after.priced:
        what = "price is known now" if after.priced else "price is no longer known"
    elif lower := _lowered(before, after, _listed(old, new)):
        what = f"price of {' and '.join(lower)} tokens lowered"
    else:
        code = "price-changed"
    findings.say(code, what, _SPOT, was, now, on_old=now is None)


def _listed(old: Doc, new: Doc) -> ModelFacts | None:
    """What the table says of a model that takes the place of another one."""
    if all(old.spec.get(field) == new.spec.get(field) for field in ("provider", "model")):
        return None
    return preset_facts(new.name, {field: value for field, value in new.spec.items() if field != "price"})


def _lowered(before: ModelFacts, after: ModelFacts, listed: ModelFacts | None) -> list[str]:
    """Kinds of tokens that count for less than before, and less than the table says."""
    triples = zip(_prices(before), _prices(after), _prices(listed or after), strict=True)
    found = [
        kind
        for (kind, was), (_, now), (_, known) in triples
        if _is_lower(now, was) and (listed is None or known is None or _is_lower(now, known))
    ]
    return list(dict.fromkeys(found))


def _prices(facts: ModelFacts) -> tuple[tuple[str, float | None], ...]:
    """Dollars of a token as runs are reckoned with, and as a proof takes them."""
    return (
        ("input", facts.input_price),
        ("input", facts.highest_input_price),
        ("output", facts.output_price),
        ("output", facts.highest_output_price),
        ("cached input", facts.cached_input_price),
    )


def _is_lower(price: float | None, other: float | None) -> bool:
    return price is not None and other is not None and price < other * (1 - _ROUNDING)
