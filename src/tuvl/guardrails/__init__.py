"""Guards: what text must pass on its way to a model, from a tool, and into the context."""
