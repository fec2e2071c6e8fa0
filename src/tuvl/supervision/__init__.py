"""Watching runs and stepping in: rules and judges of a supervisor, and what people tell a run that goes on."""
