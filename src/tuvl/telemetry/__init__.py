"""Spans, counters and logs on their way out of the process. Nothing here is imported by a run that has them off."""
