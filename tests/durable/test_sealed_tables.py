"""What `docs/durable.md` says of encryption names every table of ours, and each column that is encrypted."""

import re
from pathlib import Path

from tuvl.data.access_tables import access_metadata
from tuvl.data.control_tables import control_metadata
from tuvl.data.event_tables import event_metadata
from tuvl.data.marks import effects
from tuvl.data.run_tables import metadata
from tuvl.durable.shared_tables import shared_tables

PAGE = Path(__file__).resolve().parents[2] / "docs" / "durable.md"

WORDS = re.compile(r"message|reason|asked$|document|answer$|result|content|arguments|events|data|problem|thinking")
"""Names of columns that hold what somebody says."""

ELSEWHERE = {"tuvl_messages", "tuvl_model_calls", "tuvl_tool_calls", "tuvl_definitions", "tuvl_effects"}
"""Tables that are said to hold plain text."""


def test_the_page_names_every_table_and_what_is_encrypted_in_it():
    (section,) = re.findall(r"(?s)### Encryption\n(.*?)(?=\n## |\Z)", PAGE.read_text(encoding="utf-8"))
    lines = [line for line in section.splitlines() if line.startswith("|")]
    groups = (
        shared_tables(None).metadata,
        metadata,
        control_metadata,
        access_metadata,
        event_metadata,
        effects.metadata,
    )
    for table in (table for group in groups for table in group.tables.values()):
        (line,) = [line for line in lines if f"`{table.name}`" in line.split("|")[1]]
        encrypted = set(re.findall(r"`(\w+)`", line.split("|")[2]))
        spoken = {column.name for column in table.columns if WORDS.match(column.name)}
        assert encrypted == (set() if table.name in ELSEWHERE else spoken), table.name
