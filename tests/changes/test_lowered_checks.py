"""A check that weighs less widens authority, in whichever file the project says so."""

from pathlib import Path

import pytest

from tests.changes.test_change_classes import FILES, compared
from tests.changes.test_diff_command import printed
from tests.check.project_files import write
from tuvl.changes.change import ChangeClass
from tuvl.changes.differences import WEIGHTS, weight_change

CONFIG = FILES["tuvl.yaml"]


def state(weight: str | None, config: str | None = None) -> dict[str, str]:
    table = {} if weight is None else {"pyproject.toml": f'[tool.tuvl.severity]\nTV702 = "{weight}"\n'}
    checks = "" if config is None else f"\n  checks: {{ severity: {{ TV702: {config} }} }}"
    return {**FILES, "tuvl.yaml": CONFIG.replace("spec:", f"spec:{checks}"), **table}


LOWERED = [
    (None, "ignore", True),
    (None, "warning", True),
    ("error", None, True),
    ("warning", None, True),
    ("error", "warning", False),
    ("note", "ignore", False),
]


@pytest.mark.parametrize(("was", "now", "may"), LOWERED)
def test_check_that_weighs_less_by_pyproject_widens(
    tmp_path: Path, was: str | None, now: str | None, *, may: bool
) -> None:
    ((change, concerned),) = compared(tmp_path, state(was), state(now))
    assert (change.code, change.may, change.old_side, concerned) == ("check-lowered", may, now is None, ("desk",))
    assert (Path(change.file).name, change.line) == ("pyproject.toml", 2)


@pytest.mark.parametrize(("was", "now"), [("ignore", "note"), ("ignore", None), (None, "error"), ("note", "error")])
def test_check_that_weighs_more_widens_nothing(tmp_path: Path, was: str | None, now: str | None) -> None:
    ((change, _),) = compared(tmp_path, state(was), state(now))
    assert (change.code, change.cls) == ("check-raised", ChangeClass.BEHAVIOUR)


def test_what_tuvl_yaml_says_wins(tmp_path: Path) -> None:
    assert compared(tmp_path / "both", state("error", "error"), state("ignore", "error")) == []
    codes = {change.code for change, _ in compared(tmp_path / "gone", state("ignore", "note"), state("ignore"))}
    assert "check-lowered" in codes


def test_one_of_two_weights_is_the_lower(tmp_path: Path) -> None:
    """A change and its reverse are never both harmless."""
    weights = (*WEIGHTS, None)
    for was in weights:
        for now in weights:
            both = {weight_change(was, now), weight_change(now, was)}
            assert both == {None} if was == now else "check-lowered" in both


def test_pyproject_that_cannot_be_read_ends_with_2(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    old, new = (write(tmp_path / name, state("error")) for name in ("old", "new"))
    write(new, {"pyproject.toml": "[tool.tuvl"})
    code, _, err = printed(capfd, str(old), str(new))
    assert code == 2
    assert "pyproject.toml" in err
