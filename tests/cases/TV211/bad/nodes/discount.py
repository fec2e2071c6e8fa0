from tuvl import node


@node("discount", reads=["total"], writes=["total"])
def discount(ctx)
    return {"total": ctx["total"] * 0.9}
