"""Durable runs: the record that lets a run go on in another process, and what keeps it."""
