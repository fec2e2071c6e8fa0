"""Hooks: what an author wants to be told of a run. They observe and change nothing."""
