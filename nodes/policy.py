"""Search in the shop's policy."""

import re

from tuvl import node

SECTIONS = {
    "chargebacks": "A customer who mentions a chargeback, a lawyer or an authority is always answered by a person.",
    "damaged-goods": "Items that arrive damaged are refunded in full within 30 days. Under 50.00 nothing is sent back.",
    "late-delivery": "A parcel more than five days after the promised day earns back the shipping fee.",
    "returns": "Unused items may be returned within 30 days of delivery. After that, only the warranty applies.",
    "warranty": "Electronics have two years of warranty. A person decides warranty cases; they are not refunded here.",
    "wrong-item": "A wrong item is refunded or replaced, as the customer prefers; the shop pays for the return.",
}
BEST = 2


@node("search_policy", writes=["sections"], signals=["default"], effects="read")
def search_policy(ctx):
    asked = words(ctx.params["query"])
    ranked = sorted(SECTIONS, key=lambda name: (-len(asked & words(f"{name} {SECTIONS[name]}")), name))
    return {"sections": [{"section": name, "text": SECTIONS[name]} for name in ranked[:BEST]]}


def words(text):
    """Return the words that carry meaning, lower case, without a plural s."""
    return {word.rstrip("s") for word in re.findall(r"[a-z]{3,}", text.lower())}
