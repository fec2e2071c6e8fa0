"""Custom nodes: found, called with a context of their own, and read strictly."""

import asyncio
import contextvars
import textwrap

import pytest

from tests.engine.run_support import Project
from tuvl.control import RunControl
from tuvl.redaction import register_secret

STEP = "- {{ id: a, kind: Functional, runner: {runner}, params: {{ given: [1] }} }}"


def project(tmp_path, source: str, runner: str = "it") -> Project:
    header = "from tuvl import node\n\n"
    return Project(tmp_path, STEP.format(runner=runner)).node(header + textwrap.dedent(source))


@pytest.mark.parametrize("kind", ["async def", "def"])
async def test_a_node_sees_context_params_principal_and_abort_and_sets_keys(tmp_path, kind):
    source = f"""
        @node("it")
        {kind} it(ctx):
            return {{
                "keys": sorted(ctx),
                "n": ctx["n"],
                "missing": ctx.get("nothing", "-"),
                "params": ctx.params,
                "args": ctx.args,
                "who": ctx.principal.id,
                "aborted": ctx.abort.is_set(),
                "has": ["n" in ctx, "m" in ctx, len(ctx)],
            }}
    """
    result = await project(tmp_path, source).run({"n": 1})
    assert result.context == {
        "n": 1,
        "keys": ["n"],
        "missing": "-",
        "params": {"given": [1]},
        "args": {},
        "who": "local",
        "aborted": False,
        "has": [True, False, 1],
    }


@pytest.mark.parametrize(
    ("returned", "signal", "delta"),
    [
        ('{"x": 1}', "default", {"x": 1}),
        ('"left"', "left", {}),
        ('({"x": 1}, "left")', "left", {"x": 1}),
        ("None", "default", {}),
        ('(None, "left")', "left", {}),
        ("{}", "default", {}),
    ],
)
async def test_what_a_node_may_return(tmp_path, returned, signal, delta):
    subject = project(tmp_path, f'@node("it")\ndef it(ctx):\n    return {returned}\n')
    subject.workflow("- { id: a, kind: Functional, runner: it, routes: { left: END } }")
    result = await subject.run()
    assert (result.status, result.signal, result.context) == ("completed", signal, delta)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("7", "a value of type 'int'"),
        ("[1]", "a value of type 'list'"),
        ("True", "a value of type 'bool'"),
        ('("a", "b", "c")', "a tuple of 3"),
        ('({"x": 1}, 7)', "a signal of type 'int'"),
        ('""', "an empty signal"),
        ('(7, "left")', "a value of type 'int'"),
    ],
)
async def test_what_a_node_may_not_return_says_what_it_may(tmp_path, returned, said):
    result = await project(tmp_path, f'@node("it")\ndef it(ctx):\n    return {returned}\n').run()
    assert result.error is not None
    assert result.error.type == "bad_result"
    assert said in result.error.message
    assert "a node returns a dict" in result.error.message


async def test_the_signal_error_fails_the_step_and_keeps_nothing_of_it(tmp_path):
    result = await project(tmp_path, '@node("it")\ndef it(ctx):\n    return {"x": 1}, "error"\n').run()
    assert (result.status, result.signal, result.context) == ("failed", "error", {})
    assert result.error is not None
    assert (result.error.type, result.error.message) == ("error_signal", "step 'a' returned the signal 'error'")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return ctx['nothing']", "node 'it' raised KeyError: 'nothing' (line 5)"),
        ("raise ValueError", "node 'it' raised ValueError (line 5)"),
        ("return next(iter([]))", "node 'it' raised "),
        ("import sys; sys.exit(3)", "node 'it' raised SystemExit: 3 (line 5)"),
        ("ctx['x'] = 1", "node 'it' raised TypeError: a node does not set ctx['x']"),
        ("return ctx.session", "ctx.session is not available"),
    ],
)
@pytest.mark.parametrize("kind", ["async def", "def"])
async def test_whatever_a_node_raises_fails_its_step_with_the_line(tmp_path, kind, body, said):
    result = await project(tmp_path, f'@node("it")\n{kind} it(ctx):\n    {body}\n').run()
    assert (result.status, result.signal) == ("failed", "error")
    assert result.error is not None
    assert result.error.message.startswith(said)


async def test_a_plain_function_that_gives_an_awaitable_is_awaited(tmp_path):
    source = """
        import asyncio

        async def later():
            await asyncio.sleep(0)
            return {"x": 1}

        @node("it")
        def it(ctx):
            return later()
    """
    assert (await project(tmp_path, source).run()).context == {"x": 1}


async def test_context_variables_reach_the_node(tmp_path):
    source = """
        import contextvars

        @node("it")
        def it(ctx):
            return {var.name: value for var, value in contextvars.copy_context().items() if var.name == "of_this_test"}
    """
    contextvars.ContextVar[str]("of_this_test").set("t-1")
    assert (await project(tmp_path, source).run()).context == {"of_this_test": "t-1"}


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import no_such_module_here\n", "'stock.py' cannot be imported: ModuleNotFoundError"),
        ("raise RuntimeError('bad day')\n", "'stock.py' cannot be imported: RuntimeError: bad day (line 3)"),
        ("import sys; sys.exit(1)\n", "'stock.py' cannot be imported: SystemExit: 1 (line 3)"),
    ],
)
async def test_a_node_file_that_cannot_be_imported_fails_the_step_and_names_file_and_line(tmp_path, source, said):
    whole = source + '\n@node("it")\ndef it(ctx):\n    return {}\n'
    result = await project(tmp_path, whole).run()
    assert result.error is not None
    assert result.error.type == "node_import"
    assert said in result.error.message


async def test_a_node_that_is_deleted_while_the_file_runs_is_missed_by_name(tmp_path):
    result = await project(tmp_path, '@node("it")\ndef it(ctx):\n    return {}\n\nglobals().pop("it")\n').run()
    assert result.error is not None
    assert "node 'it' is not in 'stock.py' once imported" in result.error.message


async def test_helpers_beside_a_node_file_are_importable_and_two_projects_do_not_meet(tmp_path):
    contexts = []
    for name in ("one", "two", "one"):
        root = tmp_path / name
        subject = project(
            root, "from shared_rules import RATE\n\n@node('it')\ndef it(ctx):\n    return {'rate': RATE}\n"
        )
        (root / "nodes" / "shared_rules.py").write_text(f"RATE = {name!r}\n")
        contexts.append((await subject.run()).context)
    assert contexts == [{"rate": "one"}, {"rate": "two"}, {"rate": "one"}]


async def test_a_node_file_named_like_a_library_shadows_nothing(tmp_path):
    source = "from tuvl import node\nimport json\n\n@node('it')\ndef it(ctx):\n    return {'text': json.dumps([1])}\n"
    subject = Project(tmp_path, STEP.format(runner="it")).node(source, file="json.py")
    assert (await subject.run()).context == {"text": "[1]"}


async def test_only_the_file_of_the_node_is_imported_and_only_when_it_is_called(tmp_path):
    subject = project(tmp_path, '@node("it")\ndef it(ctx):\n    return {}\n')
    subject.node("raise RuntimeError('imported')", file="other.py")
    subject.workflow(
        """
        - { id: a, kind: Functional, runner: set, values: { x: 1 }, routes: { default: END } }
        - { id: b, kind: Functional, runner: it }
        """
    )
    assert (await subject.run()).status == "completed"


WORDED = "from beside_it import WORD\n\n@node('it')\ndef it(ctx):\n    return {'word': WORD, 'own': 'first'}\n"


async def test_a_node_whose_file_is_edited_before_its_first_use_runs_as_the_workflow_was_compiled(tmp_path):
    made = project(tmp_path, WORDED)
    made.node("WORD = 1\n", file="beside_it.py")
    engine, compiled = made.engine(), made.plan()
    project(tmp_path, WORDED.replace("first", "second"))
    assert (await engine.run(compiled, {})).context["own"] == "first"
    await engine.aclose()
    assert (await made.run()).context["own"] == "second"


async def test_what_a_node_imports_from_beside_it_is_what_was_there_when_the_workflow_was_compiled_last(tmp_path):
    made = project(tmp_path, WORDED)
    words = []
    for word in ("first", "second"):
        made.node(f"WORD = {word!r}\n", file="beside_it.py")
        words.append((await made.run()).context["word"])
    assert words == ["first", "second"]


async def test_a_node_in_a_thread_can_look_at_the_abort(tmp_path):
    source = """
        import threading

        seen = threading.Event()

        @node("it")
        def it(ctx):
            if ctx.abort.wait(30):
                seen.set()
    """
    control = RunControl()
    asyncio.get_running_loop().call_later(0.02, control.abort)
    result = await project(tmp_path, source).run(control=control)
    assert result.status == "aborted"


async def test_secrets_and_what_is_no_json_stay_out_of_a_failure(tmp_path):
    register_secret("hunter2-hunter2")
    source = """
        from tuvl.errors import StepError

        @node("it")
        async def it(ctx):
            raise StepError("key hunter2-hunter2 refused", type="refused", detail={"sent": ["hunter2-hunter2"]})
    """
    result = await project(tmp_path, source).run()
    assert result.error is not None
    assert result.error.to_json() == {
        "type": "refused",
        "message": "key *** refused",
        "step": "a",
        "detail": {"sent": ["***"]},
    }
    broken = source.replace('{"sent": ["hunter2-hunter2"]}', '{"sent": object()}')
    result = await project(tmp_path / "broken", broken).run()
    assert result.error is not None
    assert result.error.detail == {}


async def test_the_signal_aborted_of_a_node_ends_the_run_as_aborted_and_says_why(tmp_path):
    result = await project(tmp_path, '@node("it")\ndef it(ctx):\n    return "aborted"\n').run()
    assert (result.status, result.exit_code) == ("aborted", 4)
    assert result.error is not None
    assert result.error.type == "aborted_signal"
