"""tuvl: workflows of AI agents, proven before they run, bounded while they run, explained after."""

# Loaded at once, not on first use: the module has the name of the function it defines, and importing it later would
# put the module in the function's place. It imports next to nothing, so `tuvl --version` stays fast.
from tuvl.node import node

__version__ = "0.1.0"

__all__ = ["__version__", "node"]
