from tuvl import node


@node("price_order", reads=["items"], writes=["total"], signals=["default", "empty"], effects="read")
def price_order(ctx):
    if not ctx["items"]:
        return "empty"
    return {"total": sum(item["price"] for item in ctx["items"])}


@node("add_shipping", reads=["total"], writes=["total"], effects="read")
def shipping(ctx):
    return {"total": ctx["total"] + 5}


@node("shipping_note", writes=["note"], effects="read")
def shipping(ctx):
    return {"note": "Shipped within two days."}
