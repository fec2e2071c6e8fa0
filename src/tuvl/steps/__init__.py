"""One runner for each kind of step."""
