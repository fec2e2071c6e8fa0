"""A rule a file; `ALL_RULES` is the register, in the order of the codes."""

from tuvl.check.rule import Rule
from tuvl.check.rules.ambiguous_scalar import AmbiguousScalarRule
from tuvl.check.rules.approval_missing import ApprovalMissing
from tuvl.check.rules.argument_shadows import ArgumentShadows
from tuvl.check.rules.artifact_type import ArtifactType
from tuvl.check.rules.bad_expression import BadExpression
from tuvl.check.rules.bad_id import BadId
from tuvl.check.rules.bad_preset import BadPreset
from tuvl.check.rules.bad_schema import BadSchema
from tuvl.check.rules.bad_script import BadScript
from tuvl.check.rules.bad_template import BadTemplate
from tuvl.check.rules.beyond_policy import BeyondPolicy
from tuvl.check.rules.check_severity import CheckSeverity
from tuvl.check.rules.confusable_tools import ConfusableTools
from tuvl.check.rules.context_overflow import ContextOverflow
from tuvl.check.rules.contradictory_bounds import ContradictoryBounds
from tuvl.check.rules.cost_ceiling import CostCeiling
from tuvl.check.rules.cycle_without_exit_bound import CycleWithoutExitBound
from tuvl.check.rules.data_model_mistake import DataModelMistake
from tuvl.check.rules.dead_end_signal import DeadEndSignal
from tuvl.check.rules.derived_parameters import DerivedParameters
from tuvl.check.rules.duplicate_id import DuplicateId
from tuvl.check.rules.duplicate_key import DuplicateKey
from tuvl.check.rules.duplicate_trigger import DuplicateTrigger
from tuvl.check.rules.effects_overruled import EffectsOverruled
from tuvl.check.rules.empty_document import EmptyDocument
from tuvl.check.rules.empty_template_site import EmptyTemplateSite
from tuvl.check.rules.fail_open_judge import FailOpenJudge
from tuvl.check.rules.fallback_loops import FallbackLoops
from tuvl.check.rules.falls_into_branch import FallsIntoBranch
from tuvl.check.rules.flat_document import FlatDocument
from tuvl.check.rules.floating_artifact import FloatingArtifact
from tuvl.check.rules.floating_model import FloatingModel
from tuvl.check.rules.guardrail_site import GuardrailSite
from tuvl.check.rules.hook_target import HookTarget
from tuvl.check.rules.inert_bound import InertBound
from tuvl.check.rules.inline_secret import InlineSecret
from tuvl.check.rules.input_mismatch import InputMismatch
from tuvl.check.rules.invisible_text import InvisibleText
from tuvl.check.rules.judge_unused import JudgeUnused
from tuvl.check.rules.key_as_written import KeyAsWritten
from tuvl.check.rules.lock_drift import LockDrift
from tuvl.check.rules.mcp_shell import McpShell
from tuvl.check.rules.missing_field import MissingField
from tuvl.check.rules.mode_missing import ModeMissing
from tuvl.check.rules.no_tools import NoTools
from tuvl.check.rules.no_way_out import NoWayOut
from tuvl.check.rules.node_file import NodeFile
from tuvl.check.rules.nothing_checked import NothingChecked
from tuvl.check.rules.nothing_expected import NothingExpected
from tuvl.check.rules.outcome_reserved import OutcomeReserved
from tuvl.check.rules.outcome_unrouted import OutcomeUnrouted
from tuvl.check.rules.output_undefined import OutputUndefined
from tuvl.check.rules.overwritten_unread import OverwrittenUnread
from tuvl.check.rules.plain_http import PlainHttp
from tuvl.check.rules.private_address import PrivateAddress
from tuvl.check.rules.project_config import ProjectConfigRule
from tuvl.check.rules.public_trigger import PublicTrigger
from tuvl.check.rules.removed_field import RemovedField
from tuvl.check.rules.reserved_key import ReservedKey
from tuvl.check.rules.reserved_unrouted import ReservedUnrouted
from tuvl.check.rules.route_never_taken import RouteNeverTaken
from tuvl.check.rules.router_gap import RouterGap
from tuvl.check.rules.schema_provider import SchemaProvider
from tuvl.check.rules.scripted_model import ScriptedModel
from tuvl.check.rules.secret_in_context import SecretInContext
from tuvl.check.rules.self_route import SelfRoute
from tuvl.check.rules.steering_missing import SteeringMissing
from tuvl.check.rules.stub_signal import StubSignal
from tuvl.check.rules.templated_host import TemplatedHost
from tuvl.check.rules.tool_name_provider import ToolNameProvider
from tuvl.check.rules.tool_on_spine import ToolOnSpine
from tuvl.check.rules.tool_params_mismatch import ToolParamsMismatch
from tuvl.check.rules.tool_undescribed import ToolUndescribed
from tuvl.check.rules.unbounded_agent import UnboundedAgent
from tuvl.check.rules.undefined_key import UndefinedKey
from tuvl.check.rules.ungated_results import UngatedResults
from tuvl.check.rules.unknown_artifact import UnknownArtifact
from tuvl.check.rules.unknown_data_model import UnknownDataModel
from tuvl.check.rules.unknown_field import UnknownField
from tuvl.check.rules.unknown_kind import UnknownKind
from tuvl.check.rules.unknown_model import UnknownModel
from tuvl.check.rules.unknown_node import UnknownNode
from tuvl.check.rules.unknown_route_target import UnknownRouteTarget
from tuvl.check.rules.unknown_tool_ref import UnknownToolRef
from tuvl.check.rules.unpinned_mcp import UnpinnedMcp
from tuvl.check.rules.unpriced_model import UnpricedModel
from tuvl.check.rules.unreachable_step import UnreachableStep
from tuvl.check.rules.unsafe_yaml import UnsafeYaml
from tuvl.check.rules.unset_variable import UnsetVariable
from tuvl.check.rules.untrusted_instruction import UntrustedInstruction
from tuvl.check.rules.untrusted_to_effect import UntrustedToEffect
from tuvl.check.rules.unused_artifact import UnusedArtifact
from tuvl.check.rules.unused_suppression import UnusedSuppression
from tuvl.check.rules.workflow_cycle import WorkflowCycle
from tuvl.check.rules.write_unretriable import WriteUnretriable
from tuvl.check.rules.wrong_mode_field import WrongModeField
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

REFERENCES: tuple[Rule, ...] = (
    UnknownRouteTarget(),
    UnknownToolRef(),
    OutcomeUnrouted(),
    UnknownArtifact(),
    ArtifactType(),
    UnknownModel(),
    UnknownNode(),
    UnknownDataModel(),
    HookTarget(),
    UnusedArtifact(),
    NodeFile(),
    DuplicateTrigger(),
    WorkflowCycle(),
    UnsetVariable(),
    ProjectConfigRule(),
    DataModelMistake(),
    BadScript(),
    CheckSeverity(),
    BeyondPolicy(),
    BadPreset(),
    NothingExpected(),
    StubSignal(),
)

FLOW: tuple[Rule, ...] = (
    UnreachableStep(),
    ReservedUnrouted(),
    RouteNeverTaken(),
    NoWayOut(),
    CycleWithoutExitBound(),
    DeadEndSignal(),
    SelfRoute(),
    ToolOnSpine(),
    RouterGap(),
    FallsIntoBranch(),
    FallbackLoops(),
)

AGENT: tuple[Rule, ...] = (
    ModeMissing(),
    WrongModeField(),
    NoTools(),
    ToolUndescribed(),
    SteeringMissing(),
    OutcomeReserved(),
    GuardrailSite(),
    ToolParamsMismatch(),
    DerivedParameters(),
    ToolNameProvider(),
    SchemaProvider(),
    JudgeUnused(),
    ConfusableTools(),
    ArgumentShadows(),
    EmptyTemplateSite(),
)

DATA_FLOW: tuple[Rule, ...] = (
    UndefinedKey(),
    OverwrittenUnread(),
    InputMismatch(),
    ReservedKey(),
    OutputUndefined(),
    SecretInContext(),
)

BOUNDS: tuple[Rule, ...] = (
    UnboundedAgent(),
    InertBound(),
    ContradictoryBounds(),
    CostCeiling(),
    UnpricedModel(),
    ContextOverflow(),
)

SECURITY: tuple[Rule, ...] = (
    InlineSecret(),
    UntrustedToEffect(),
    TemplatedHost(),
    PlainHttp(),
    WriteUnretriable(),
    FailOpenJudge(),
    UngatedResults(),
    PublicTrigger(),
    ApprovalMissing(),
    UntrustedInstruction(),
    McpShell(),
    PrivateAddress(),
    EffectsOverruled(),
)

PRODUCTION: tuple[Rule, ...] = (
    FloatingArtifact(),
    FloatingModel(),
    LockDrift(),
    ScriptedModel(),
    UnpinnedMcp(),
)

ALL_RULES: tuple[Rule, ...] = (
    *SOURCE,
    *SHAPE,
    *REFERENCES,
    *FLOW,
    *AGENT,
    *DATA_FLOW,
    *BOUNDS,
    *SECURITY,
    *PRODUCTION,
)
