"""Runs a compiled workflow, step after step."""
