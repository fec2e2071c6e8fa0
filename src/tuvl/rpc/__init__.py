"""Runs over gRPC: the service of `runs.proto`, beside the HTTP API and over the same services."""

from pathlib import Path

PROTO = Path(__file__).with_name("runs.proto")
"""The description of the service, from which clients in any language are made."""
