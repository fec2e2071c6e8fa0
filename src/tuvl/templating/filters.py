"""The closed sets: every filter and every test that a template may use."""

from collections.abc import Mapping
from types import MappingProxyType

from tuvl.templating.calls import Operation
from tuvl.templating.checks import TESTS
from tuvl.templating.filters_data import DATA_FILTERS
from tuvl.templating.filters_text import TEXT_FILTERS

FILTERS: Mapping[str, Operation] = MappingProxyType({**TEXT_FILTERS.table, **DATA_FILTERS.table})
"""Filters by name; `default`, `map`, `select` and its kin are part of the language itself."""

TEST_TABLE: Mapping[str, Operation] = MappingProxyType(dict(TESTS.table))
"""Tests by name; `defined` and `undefined` are part of the language itself."""

LANGUAGE_FILTERS = frozenset(
    ["default", "d", "map", "select", "reject", "selectattr", "rejectattr"],
)
"""Filters that take missing values or other filters, and so are expressions of their own."""

LANGUAGE_TESTS = frozenset(["defined", "undefined"])
"""Tests that take missing values."""
