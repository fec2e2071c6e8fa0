"""The base of all contracts, and the value types they share.

A contract is frozen, refuses unknown fields and coerces nothing. The docstring under each field is its description
in the JSON Schemas, in editors and in the language reference; `tuvl.spec.generate` reads it from the source.
"""

from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, Strict, model_validator
from pydantic import JsonValue as PydanticJsonValue
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from tuvl.spec.alphabets import IDENTIFIER, IDENTIFIER_WORDS, NAME, NAME_WORDS, STEP_ID, STEP_ID_WORDS

Item = TypeVar("Item")

WORDS = "patternErrorMessage"
"""Key of the JSON Schemas that says in words what a pattern wants; YAML editors show it too."""


class Contract(BaseModel):
    """Base of every document, step and block of the language."""

    # `defer_build`: one validator is built, for the document that is really read, instead of one a class.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True, allow_inf_nan=False)


class Needs(NamedTuple):
    """Fields that must be present when `field` holds one of `values` (or none of them, with `otherwise`)."""

    field: str
    values: tuple[str, ...]
    fields: tuple[str, ...]
    otherwise: bool = False


class Ruled(Contract):
    """A contract whose fields depend on each other; names are those of the YAML, `null` counts as not given."""

    exactly_one: ClassVar[tuple[str, ...]] = ()
    at_most_one: ClassVar[tuple[str, ...]] = ()
    at_least_one: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[tuple[Needs, ...]] = ()

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        given = self._given()
        self._check_alternatives(given)
        for rule in self.needs:
            if (given.get(rule.field) in rule.values) != rule.otherwise:
                missing = [name for name in rule.fields if name not in given]
                if missing:
                    raise ValueError(f"{', '.join(missing)} missing")
        return self

    def _check_alternatives(self, given: dict[str, object]) -> None:
        for names, least, most in (
            (self.exactly_one, 1, 1),
            (self.at_most_one, 0, 1),
            (self.at_least_one, 1, len(self.at_least_one)),
        ):
            count = sum(given.get(name) is not None for name in names)
            if names and not least <= count <= most:
                raise ValueError(f"{count} of {', '.join(names)} given")

    def _given(self) -> dict[str, object]:
        fields = type(self).model_fields
        return {fields[name].alias or name: getattr(self, name) for name in self.model_fields_set}


class _AnyJson:
    """Takes any value as it is: documents hold nothing but JSON, so there is nothing to check or to copy."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.any_schema()

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {}


Json: TypeAlias = Annotated[PydanticJsonValue, _AnyJson()]
"""Any JSON value; strings in it may be templates where the field says so."""

Tree: TypeAlias = dict[str, Json]
"""A mapping with any JSON below it."""

Many: TypeAlias = Annotated[tuple[Item, ...], Strict(False)]
"""A YAML list, kept as a tuple."""

Count: TypeAlias = Annotated[int, Field(ge=1)]
Seconds: TypeAlias = Annotated[float, Field(gt=0)]
Usd: TypeAlias = Annotated[float, Field(gt=0)]
NonNegative: TypeAlias = Annotated[float, Field(ge=0)]
Temperature: TypeAlias = Annotated[float, Field(ge=0, le=2)]
Text: TypeAlias = Annotated[str, Field(min_length=1)]
StepId: TypeAlias = Annotated[str, Field(pattern=STEP_ID, json_schema_extra={WORDS: STEP_ID_WORDS})]
"""Where a step gets its id; a reference to a step is a `StepRef`, judged by whether the step is there."""
StepRef: TypeAlias = Text
Name: TypeAlias = Annotated[str, Field(pattern=NAME, json_schema_extra={WORDS: NAME_WORDS})]
Identifier: TypeAlias = Annotated[str, Field(pattern=IDENTIFIER, json_schema_extra={WORDS: IDENTIFIER_WORDS})]
Expression: TypeAlias = Annotated[
    str, Field(pattern=r"\{\{", json_schema_extra={WORDS: "a template such as `{{ name }}`"})
]
Scalar: TypeAlias = str | int | float | bool | None
Effects: TypeAlias = Literal["read", "write"]
Reaction: TypeAlias = Literal["pause", "steer", "abort"]


class Metadata(Contract):
    """Who the document is."""

    name: Name
    """Name of the document, unique for its kind and schema version: letters, digits, `_`, `.` and `-`."""
    schema_version: Text = "v1"
    """Version of the document's own contract; part of its key, so that two versions can live side by side."""
    description: str | None = None
    """What it is for, in a sentence."""
    group: str | None = None
    """Label under which lists show it."""
    required_scope: Text | None = None
    """Scope a principal must have to use it."""
    required_group: Text | None = None
    """Group a principal must be in to use it."""
    version: str | int | float | None = None
    """Version label of your own; for `kind: Artifact` a positive whole number, which references may pin."""


class ArtifactMetadata(Metadata):
    """Who the artifact is."""

    version: Count = 1
    """Version of the artifact, a positive whole number; references pin it as `artifact://name@version`."""


class Envelope(Contract):
    """What every document has around its `spec:`."""

    version: str | int | float | None = None
    """Free label for the file's own version; tuvl does not read it."""
    enabled: bool = True
    """`false` leaves the document out, as if the file were not there."""
    metadata: Metadata
    """Who the document is."""
