"""What changed between two states of a workflow or a project, by what it means for callers and for authority."""
