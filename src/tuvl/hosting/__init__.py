"""Durable runs of a project as the command line, workers and servers share them."""
