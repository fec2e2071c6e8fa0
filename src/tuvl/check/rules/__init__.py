"""A rule a file; `ALL_RULES` is the register, in the order of the codes."""

from tuvl.check.rule import Rule

ALL_RULES: tuple[Rule, ...] = ()
