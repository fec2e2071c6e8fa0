"""The words of `tuvl lsp`, for Typer; what they do is in `tuvl.cli.lsp`."""

import typer

EXAMPLES = (
    "tuvl lsp                # an editor starts it, and speaks with it over stdin and stdout",
    "tuvl lsp 2> lsp.log     # with its log kept",
)


def lsp() -> None:
    """Serve an editor: findings while you type, hover, completion, definitions, quick fixes.

    It speaks the Language Server Protocol on stdin and stdout, and logs on stderr. Nothing of a project is run, and
    nothing is called. It ends when the editor says so, or closes stdin. It needs the extra `lsp`:
    pip install 'tuvl[lsp]'
    """
    from tuvl.cli.lsp import lsp_command

    raise typer.Exit(lsp_command())
