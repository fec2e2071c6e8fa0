"""What is known of a language model before it is called: its price, its longest reply, its window."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tuvl.analysis.amount import NOTHING, Amount, exactly, highest, unknown
from tuvl.analysis.measure import Measure
from tuvl.analysis.steps import mapping, text
from tuvl.analysis.surroundings import Surroundings, spec_of
from tuvl.dataclass import dataclass
from tuvl.model_table import TableEntry, table_entry
from tuvl.spec.reserved_settings import sent_settings

DEFAULT_MODEL = "default"
DEFAULT_TIMEOUT_S = 120.0
"""One model call, when neither the agent nor its preset says otherwise."""

_OWN_LANES = ("scripted", "openai_compatible")
"""Providers that the table knows nothing of."""

_CAP = "max_tokens"
_OTHER_CAPS = ("max_completion_tokens", "max_output_tokens")
"""What providers call the same, besides."""
_CAPS_OF_SERVERS = ("max_new_tokens", "max_tokens_to_sample", "maxOutputTokens", "num_predict", "n_predict")
"""What some servers call the same, and others do not know."""

Lookup = Callable[[str], TableEntry | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """One model; prices are US dollars for a token, `None` where nobody tells."""

    name: str
    found: bool = True
    """Whether the name means anything: a preset, or a provider string."""
    settled: bool = True
    """Whether the file says which model it is; one named by a variable is not."""
    input_price: float | None = None
    output_price: float | None = None
    cached_input_price: float | None = None
    """What an input token costs that the provider had cached; as much as another one where nothing is said of it."""
    highest_input_price: float | None = None
    highest_output_price: float | None = None
    max_output: int | None = None
    max_output_field: str = ""
    forced_output: bool = False
    """Whether `extra` of the preset has a `max_tokens`, which goes out in place of the agent's `max_output_tokens`."""
    output_beside: Amount = NOTHING
    """What `extra` asks for by another name. It goes out beside, and providers differ in which they heed."""
    window: int | None = None
    window_field: str = ""
    timeout_s: float = DEFAULT_TIMEOUT_S
    preset_timeout_s: float | None = None
    price_source: str = ""
    rate: tuple[int, float] | None = None
    """Most calls in so many seconds."""

    def waits_s(self, calls: int) -> float:
        """Seconds that so many calls wait at most for the rate limit, where no other run calls the model."""
        if self.rate is None:
            return 0.0
        most, per_s = self.rate
        return -(-calls // most) * per_s

    @property
    def priced(self) -> bool:
        """Whether its price is known."""
        return self.input_price is not None and self.output_price is not None

    def price(self, measure: Measure) -> tuple[Amount, Amount]:
        """Dollars of an input and of an output token; for the proof those of the most expensive tier."""
        proof = measure.retries
        pair = (self.highest_input_price, self.highest_output_price) if proof else (self.input_price, self.output_price)
        return self._known(pair[0]), self._known(pair[1])

    def longest_reply(self, asked: int | None, field: str) -> Amount:
        """Tokens of one reply, when so many are asked for at most (`field` says where); `None` asks for no bound."""
        if asked is not None and not self.forced_output:
            longest = exactly(asked, field)
        elif self.max_output is not None:
            longest = exactly(self.max_output, self.max_output_field)
        else:
            longest = unknown(f"the longest reply of model {self.name!r} ({field} is not set)")
        return longest.or_more(self.output_beside)

    def _known(self, price: float | None) -> Amount:
        return unknown(f"the price of model {self.name!r}") if price is None else exactly(price)


def default_model(project: Surroundings) -> str:
    """The name of the model of whoever names none."""
    return text(spec_of(project.config).get("default_model")) or DEFAULT_MODEL


def model_facts(name: object, project: Surroundings, lookup: Lookup = table_entry) -> ModelFacts:
    """Find the model that an agent, a judge or a compaction names; without a name the project's default."""
    if not isinstance(name, str):
        name = default_model(project)
    if "/" in name:
        return _listed(name, name, lookup, {})
    preset = project.preset(name)
    if preset is None:
        return ModelFacts(name=name, found=False)
    return preset_facts(name, spec_of(mapping(preset.data)), lookup)


def preset_facts(name: str, spec: Mapping[str, Any], lookup: Lookup = table_entry) -> ModelFacts:
    """Find what the `spec:` of a preset says of its model, and what the table says where the preset is silent."""
    provider, model = text(spec.get("provider")) or "", text(spec.get("model")) or ""
    if provider in _OWN_LANES:
        return _declared(ModelFacts(name=name), spec)
    if "${" in model or "${" in provider:
        return _declared(ModelFacts(name=name, settled=False), spec)
    return _listed(name, model if model.startswith(f"{provider}/") else f"{provider}/{model}", lookup, spec)


def _listed(name: str, model: str, lookup: Lookup, spec: Mapping[str, Any]) -> ModelFacts:
    entry = None if "${" in model else lookup(model)
    facts = ModelFacts(name=name, settled="${" not in model)
    if entry is not None:
        where = f"LiteLLM's table for {model}"
        facts = ModelFacts(
            name=name,
            input_price=entry.input_cost,
            output_price=entry.output_cost,
            cached_input_price=entry.input_cost if entry.cached_input_cost is None else entry.cached_input_cost,
            highest_input_price=entry.highest_input_cost,
            highest_output_price=entry.highest_output_cost,
            max_output=entry.max_output_tokens,
            max_output_field=where,
            window=entry.max_input_tokens,
            window_field=where,
            price_source=where,
        )
    return _declared(facts, spec)


def _declared(facts: ModelFacts, spec: Mapping[str, Any]) -> ModelFacts:
    """Lay what a preset says over what the table says."""
    facts = _with_price(facts, mapping(spec.get("price")))
    facts = _with_caps(facts, whole(spec.get("max_tokens")), sent_settings(mapping(spec.get("extra"))))
    window, timeout = whole(spec.get("context_window")), positive(spec.get("timeout"))
    limit = mapping(spec.get("rate_limit"))
    most, per_s = whole(limit.get("calls")), positive(limit.get("per_seconds"))
    if most is not None and per_s is not None:
        facts = replace(facts, rate=(most, per_s))
    if window is not None:
        facts = replace(facts, window=window, window_field=f"context_window of model {facts.name!r}")
    return facts if timeout is None else replace(facts, timeout_s=timeout, preset_timeout_s=timeout)


def _with_caps(facts: ModelFacts, preset: int | None, sent: Mapping[str, Any]) -> ModelFacts:
    """Lay the longest reply that a preset asks for over what the table says, and beside it what goes out as well."""
    of_model = f"of model {facts.name!r}"
    most = unknown(f"the longest reply {of_model}")  # whatever it is asked for
    if facts.max_output is not None:
        most = exactly(facts.max_output, facts.max_output_field)
    others = {name: whole(sent[name]) for name in (*_OTHER_CAPS, *_CAPS_OF_SERVERS) if sent.get(name) is not None}
    beside = highest(
        most if size is None else exactly(size, f"extra.{name} {of_model}") for name, size in others.items()
    )
    facts = replace(facts, forced_output=_CAP in sent, output_beside=beside)
    heeded = [(size, f"extra.{name}") for name, size in others.items() if size is not None and name in _OTHER_CAPS]
    if _CAP in sent:
        longest, field = whole(sent[_CAP]), f"extra.{_CAP}"
    else:
        longest, field = max(heeded, default=(None, "")) if preset is None else (preset, _CAP)
    return facts if longest is None else replace(facts, max_output=longest, max_output_field=f"{field} {of_model}")


def _with_price(facts: ModelFacts, price: Mapping[str, Any]) -> ModelFacts:
    inputs, outputs = (
        positive(price.get("input_per_mtok"), zero=True),
        positive(price.get("output_per_mtok"), zero=True),
    )
    if inputs is None or outputs is None:
        return facts
    cached = positive(price.get("cached_input_per_mtok"), zero=True)
    cached = inputs if cached is None else cached
    return replace(
        facts,
        input_price=inputs / 1e6,
        output_price=outputs / 1e6,
        cached_input_price=cached / 1e6,
        highest_input_price=max(inputs, cached) / 1e6,
        highest_output_price=outputs / 1e6,
        price_source=f"price of model {facts.name!r}",
    )


LARGEST = 10**15
"""What a number in a file counts as at most: no run gets near it, and products of several still fit a float."""


def whole(value: object) -> int | None:
    """A whole number from 1, as bounds are, and at most `LARGEST`; else `None`."""
    return min(value, LARGEST) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def positive(value: object, *, zero: bool = False) -> float | None:
    """A number above 0, or from 0, and at most `LARGEST`; else `None`."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(min(value, LARGEST)) if value > 0 or (zero and value == 0) else None
