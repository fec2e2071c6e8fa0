"""Notes on a ticket."""

from tuvl import node


@node("add_note", reads=["notes"], writes=["notes"], signals=["default"], effects="write")
async def add_note(ctx):
    return {"notes": [*ctx.get("notes", []), ctx.params["note"]]}
