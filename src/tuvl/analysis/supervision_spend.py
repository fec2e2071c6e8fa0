"""What the judge of a supervisor costs an agent that is watched."""

from tuvl.analysis import own_words
from tuvl.analysis.amount import NOTHING, Amount, exactly
from tuvl.analysis.judges import ATTEMPTS
from tuvl.analysis.language_models import Lookup, ModelFacts, model_facts, whole
from tuvl.analysis.references import ARTIFACT_SCHEME, tool_entries
from tuvl.analysis.scope import Scope
from tuvl.analysis.spend import NO_SPEND, Spend, calls
from tuvl.analysis.steps import StepView, WorkflowView, items, mapping, text
from tuvl.analysis.supervision import supervising_judge, supervisor_of, watched_agents
from tuvl.analysis.surroundings import Surroundings
from tuvl.analysis.text_size import size


def judge_looks(step: StepView, workflow: WorkflowView, iterations: int) -> int:
    """How often the supervisor's judge looks at one execution of an agent: after turns, and never after the last."""
    judge = supervising_judge(workflow)
    if not judge or not _is_watched(step, workflow):
        return 0
    return (iterations - 1) // (whole(judge.get("every_n_iterations")) or 1)


def watching_judge(
    step: StepView, workflow: WorkflowView, project: Surroundings, lookup: Lookup
) -> tuple[ModelFacts, ...]:
    """The model of the supervisor's judge, where it watches the step."""
    if not supervising_judge(workflow) or not _is_watched(step, workflow):
        return ()
    return (model_facts(supervising_judge(workflow).get("model"), project, lookup),)


def one_look(step: StepView, scope: Scope) -> Spend:
    """What the judge uses when it looks once."""
    found = watching_judge(step, scope.workflow, scope.project, scope.lookup)
    if not found:
        return NO_SPEND
    (model,), measure = found, scope.measure
    criteria = text(supervising_judge(scope.workflow).get("criteria")) or ""
    artifact = scope.project.resolve(criteria) if criteria.startswith(ARTIFACT_SCHEME) else None
    # Taken as written, also where the text behind a reference is a template.
    words = size(criteria if artifact is None or artifact.body is None else artifact.body)
    tools = sum(size(ref) + own_words.COUNTED_TOOL for _, ref, _ in tool_entries(step))
    told = measure.bytes(words + own_words.JUDGE + own_words.DELIMITERS + own_words.COUNTS + tools)
    return calls(
        exactly(1),
        inputs=exactly(told + 2 * measure.frame + measure.request_frame),
        outputs=model.longest_reply(None, f"max_tokens of model {model.name!r}"),
        model=model,
        attempts=measure.attempts(ATTEMPTS),
        measure=measure,
    )


def steer_tokens(step: StepView, scope: Scope, iterations: int) -> Amount:
    """Tokens that guidance adds to one request at most: a rule says it once, the judge whenever it looks."""
    supervisor = supervisor_of(scope.workflow)
    if not _is_watched(step, scope.workflow):
        return NOTHING
    steers = sum(mapping(rule).get("then") == "steer" for rule in items(supervisor.get("rules")))
    if supervising_judge(scope.workflow).get("on_violation") == "steer":
        steers += judge_looks(step, scope.workflow, iterations)
    if not steers:
        return NOTHING
    said = text(supervisor.get("steer_message"))
    words = own_words.STEER + (own_words.DEFAULT_STEER if said is None else size(said))
    return exactly(steers * (scope.measure.bytes(words) + scope.measure.frame))


def _is_watched(step: StepView, workflow: WorkflowView) -> bool:
    return step.id in {agent.id for agent in watched_agents(workflow)}
