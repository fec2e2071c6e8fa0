"""The HTTP server: starts, shows and controls the runs of one project for callers with a token."""
