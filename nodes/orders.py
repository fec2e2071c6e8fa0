"""What the shop's rules allow for an order."""

from tuvl import node

WINDOW_DAYS = 30
CEILING_CENTS = 10_000


@node("assess_order", reads=["order"], writes=["assessment"], signals=["default"], effects="read")
def assess_order(ctx):
    order = ctx["order"]
    hold = order.get("hold")
    days = order["delivered_days_ago"]
    within_window = days is not None and days <= WINDOW_DAYS
    left = order["total_cents"] - order["refunded_cents"]
    return {
        "assessment": {
            "on_hold": hold is not None,
            "hold_reason": hold or "none",
            "within_window": within_window,
            "refundable_cents": min(left, CEILING_CENTS) if within_window else 0,
        }
    }
