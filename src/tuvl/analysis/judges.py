"""Judges among the guardrails of an agent: which models they ask, and how much they read."""

from collections.abc import Iterator

from tuvl.analysis import own_words
from tuvl.analysis.amount import Amount, exactly, unbounded
from tuvl.analysis.language_models import Lookup, ModelFacts, model_facts, whole
from tuvl.analysis.measure import Measure
from tuvl.analysis.references import ARTIFACT_SCHEME
from tuvl.analysis.spend import NO_SPEND, Spend, calls
from tuvl.analysis.steps import StepView, items, mapping, text
from tuvl.analysis.surroundings import Surroundings, spec_of
from tuvl.analysis.text_size import TextSize, prose_size, size
from tuvl.dataclass import dataclass

ATTEMPTS = 2
"""How often a judge is asked."""

BACKOFF_S = 5.0
"""Longest wait between the two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What the guardrails of one site do to one text: the judges' calls, and the longest text that goes on."""

    spend: Spend
    judges: int
    text: Amount


def guard_checks(step: StepView, site: str, project: Surroundings) -> Iterator[dict[str, object]]:
    """The checks of one site of an agent, in the order in which they look."""
    for reference in items(mapping(step.agent.get("guardrails")).get(site)):
        artifact = project.resolve(reference) if isinstance(reference, str) else None
        if artifact is not None and artifact.type == "guardrail":
            yield from (check for check in items(spec_of(artifact.data).get("checks")) if isinstance(check, dict))


def judge_models(step: StepView, project: Surroundings, lookup: Lookup) -> Iterator[ModelFacts]:
    """The models of all judges of an agent."""
    for site in ("input", "tools", "output"):
        for check in guard_checks(step, site, project):
            if check.get("check") == "llm_judge":
                yield model_facts(check.get("model"), project, lookup)


def look_at(
    step: StepView,
    site: str,
    given: Amount,
    *,
    project: Surroundings,
    lookup: Lookup,
    measure: Measure,
    context_bytes: int,
) -> Site:
    """What one text of at most so many tokens costs at a site."""
    spend, judges = NO_SPEND, 0
    for check in guard_checks(step, site, project):
        match check.get("check"):
            case "max_chars":
                limit = whole(check.get("limit"))
                if limit is not None:
                    given = given.at_most(exactly(measure.characters(limit), "max_chars of a guardrail"))
            case "pii_mask":
                given = given.times(measure.mask_growth)
            case "llm_judge":
                model = model_facts(check.get("model"), project, lookup)
                spend += _one(model, check.get("criteria"), given, project, measure, context_bytes)
                judges += 1
    return Site(spend=spend, judges=judges, text=given)


def unread(site: str) -> Amount:
    """The size of a text that no bound holds when a judge reads it."""
    return unbounded(f"a `max_chars` check before the judge of `guardrails.{site}`")


def _one(
    model: ModelFacts, criteria: object, given: Amount, project: Surroundings, measure: Measure, context_bytes: int
) -> Spend:
    words = text(criteria) or ""
    # Only an artifact may be a template; criteria in the file are literal text.
    prose = prose_size(words, project) if words.startswith(ARTIFACT_SCHEME) else TextSize(literal=size(words))
    literal = prose.length(context_bytes, proof=measure.retries)
    told = measure.bytes(literal + own_words.JUDGE + own_words.DELIMITERS) + 2 * measure.frame + measure.request_frame
    return calls(
        exactly(1),
        inputs=given + exactly(told),
        outputs=model.longest_reply(None, f"max_tokens of model {model.name!r}"),
        model=model,
        attempts=measure.attempts(ATTEMPTS),
        measure=measure,
    )
