"""A rule a file; `ALL_RULES` is the register, in the order of the codes."""

from tuvl.check.rule import Rule
from tuvl.check.rules.ambiguous_scalar import AmbiguousScalarRule
from tuvl.check.rules.bad_expression import BadExpression
from tuvl.check.rules.bad_id import BadId
from tuvl.check.rules.bad_schema import BadSchema
from tuvl.check.rules.bad_template import BadTemplate
from tuvl.check.rules.duplicate_id import DuplicateId
from tuvl.check.rules.duplicate_key import DuplicateKey
from tuvl.check.rules.empty_document import EmptyDocument
from tuvl.check.rules.flat_document import FlatDocument
from tuvl.check.rules.invisible_text import InvisibleText
from tuvl.check.rules.key_as_written import KeyAsWritten
from tuvl.check.rules.missing_field import MissingField
from tuvl.check.rules.nothing_checked import NothingChecked
from tuvl.check.rules.removed_field import RemovedField
from tuvl.check.rules.unknown_field import UnknownField
from tuvl.check.rules.unknown_kind import UnknownKind
from tuvl.check.rules.unsafe_yaml import UnsafeYaml
from tuvl.check.rules.unused_suppression import UnusedSuppression
from tuvl.check.rules.wrong_type import WrongType
from tuvl.check.rules.yaml_syntax import YamlSyntax

SOURCE: tuple[Rule, ...] = (
    YamlSyntax(),
    DuplicateKey(),
    UnsafeYaml(),
    KeyAsWritten(),
    EmptyDocument(),
    UnusedSuppression(),
    AmbiguousScalarRule(),
    InvisibleText(),
    NothingChecked(),
)

SHAPE: tuple[Rule, ...] = (
    UnknownField(),
    WrongType(),
    MissingField(),
    UnknownKind(),
    FlatDocument(),
    RemovedField(),
    DuplicateId(),
    BadId(),
    BadTemplate(),
    BadSchema(),
    BadExpression(),
)

REFERENCES: tuple[Rule, ...] = ()

FLOW: tuple[Rule, ...] = ()

AGENT: tuple[Rule, ...] = ()

ALL_RULES: tuple[Rule, ...] = (*SOURCE, *SHAPE, *REFERENCES, *FLOW, *AGENT)
