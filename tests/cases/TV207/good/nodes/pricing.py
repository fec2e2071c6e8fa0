from tuvl import node


@node("price_order", reads=["items"], writes=["total"], signals=["default", "empty"], effects="read")
def price_order(ctx):
    if not ctx["items"]:
        return "empty"
    return {"total": sum(item["price"] for item in ctx["items"])}
