"""The language server behind `tuvl lsp`: the checks and the facts of a project, as an editor asks for them."""
