"""A workflow compiled: everything resolved, nothing left to look up while it runs."""
