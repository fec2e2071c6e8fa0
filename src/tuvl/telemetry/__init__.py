"""Spans, counters and logs on their way out of the process. What costs an import is imported when it is asked for."""
