"""A comment that hides a finding is a change of its own: grave where the finding is about bounds or security."""

from pathlib import Path

import pytest

from tests.check.project_files import workflow, write
from tuvl.__main__ import main


@pytest.mark.parametrize(
    ("codes", "code", "exit_code"),
    [
        ("TV702", "danger-accepted", 1),
        ("TV604", "danger-accepted", 1),
        ("TV302, TV601", "danger-accepted", 1),
        ("TV302", "finding-accepted", 0),
        ("TV007", "finding-accepted", 0),
    ],
)
def test_newly_accepted_finding_is_told_by_its_gravity(
    codes: str, code: str, exit_code: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    old = write(tmp_path / "old", {"tuvl.yaml": "kind: ProjectConfig\n", "w.yaml": workflow()})
    text = workflow().replace("spec:", f"# tuvl: ignore[{codes}] because\nspec:", 1)
    new = write(tmp_path / "new", {"tuvl.yaml": "kind: ProjectConfig\n", "w.yaml": text})
    assert main(["diff", str(old), str(new)]) == exit_code
    assert f"{code}: a comment hides {codes} here" in capfd.readouterr().out
    assert main(["diff", str(new), str(old)]) == 0
    assert main(["diff", str(new), str(new)]) == 0
