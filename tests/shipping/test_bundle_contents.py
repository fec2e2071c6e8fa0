"""A bundle has what its workflows need, and nothing else; least of all a secret."""

import os
import sys
from pathlib import Path

import pytest

from tests.cli.cli_support import write
from tests.shipping.shipping_support import NEEDED, price_desk, release_of
from tuvl.errors import UsageError
from tuvl.project.index import ProjectIndex
from tuvl.shipping.caveats import warnings_of
from tuvl.shipping.contents import collect
from tuvl.shipping.needs import VariableNeed, needs_of
from tuvl.shipping.secrets import secrets_in


def files_of(folder: Path, *include: str) -> set[str]:
    return set(collect(ProjectIndex(folder), include).files)


def test_what_workflows_need_goes_along_and_nothing_else(tmp_path: Path) -> None:
    assert files_of(price_desk(tmp_path)) == set(NEEDED)


def test_nothing_of_another_place_is_in_the_manifest_either(tmp_path: Path) -> None:
    raw = release_of(price_desk(tmp_path / "secret-place")).bundle.raw
    assert b"secret-place" not in raw
    assert b"hush" not in raw


def test_lock_and_lists_of_packages_go_along(tmp_path: Path) -> None:
    desk = write(price_desk(tmp_path), {"tuvl.lock": "lock\n", "requirements.txt": "pyyaml\n"})
    assert files_of(desk) == {*NEEDED, "tuvl.lock", "requirements.txt"}


def test_settings_of_the_checks_go_along_because_a_run_asks_them(tmp_path: Path) -> None:
    desk = write(price_desk(tmp_path), {"pyproject.toml": '[tool.tuvl.severity]\nTV302 = "error"\n'})
    assert "pyproject.toml" in files_of(desk)
    (desk / "pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    assert "pyproject.toml" not in files_of(desk)


def test_model_that_agents_call_by_no_name_goes_along(tmp_path: Path) -> None:
    ask = NEEDED["workflows/ask.yaml"].replace("        model: careful\n", "")
    preset = "kind: AgentModel\nmetadata: { name: default }\nspec: { provider: scripted, replies: [{ text: x }] }\n"
    desk = write(tmp_path, {"workflows/ask.yaml": ask, "artifacts/daily.md": NEEDED["artifacts/daily.md"]})
    write(desk, {"llms/default.yaml": preset})
    assert "llms/default.yaml" in files_of(desk)


RECORDS = {
    "workflows/w.yaml": """\
kind: Workflow
metadata: { name: w }
spec:
  context: Order
  steps:
    - { id: keep, kind: ModelOp, model: Order, operation: list, routes: { default: END, error: END } }
""",
    "models/order.yaml": """\
kind: ModelDefinition
metadata: { name: Order }
spec: { tablename: orders, datasource: main, fields: [{ name: id, type: integer, primary_key: true }] }
""",
    "datasources/main.yaml": """\
kind: DataSource
metadata: { name: main }
spec: { type: postgresql, connection: "${DB_URL}" }
""",
}


def test_data_models_and_sources_of_records_go_along(tmp_path: Path) -> None:
    other = "kind: DataSource\nmetadata: { name: other }\nspec: { type: sqlite, connection: x.db }\n"
    desk = write(tmp_path, {**RECORDS, "datasources/other.yaml": other})
    contents = collect(ProjectIndex(desk))
    assert set(contents.files) == set(RECORDS)
    needs = needs_of(contents)
    assert needs.extras == ("postgres",)
    assert VariableNeed(name="DB_URL", optional=False) in needs.variables


def test_included_files_go_along_and_hidden_ones_in_them_do_not(tmp_path: Path) -> None:
    desk = write(price_desk(tmp_path), {"data/prices.json": "{}", "data/.env": "X=1", "data/deep/more.csv": "a\n"})
    assert files_of(desk, "data", "notes.txt") - set(NEEDED) == {"data/prices.json", "data/deep/more.csv", "notes.txt"}


@pytest.mark.parametrize(
    ("include", "why"),
    [
        ("nowhere", "is not in the project"),
        ("../beside.txt", "lies outside of the project"),
        (".env", "may hold secrets"),
        (".git", "may hold secrets"),
        ("server.pem", "may hold secrets"),
        ("id_ed25519", "may hold secrets"),
    ],
)
def test_what_no_bundle_takes_is_refused_by_name(tmp_path: Path, include: str, why: str) -> None:
    desk = write(price_desk(tmp_path / "desk"), {"server.pem": "x", "id_ed25519": "x", ".git/config": "x"})
    write(tmp_path, {"beside.txt": "x"})
    with pytest.raises(UsageError, match=why):
        collect(ProjectIndex(desk), [include])


@pytest.mark.skipif(sys.platform != "linux", reason="other file systems take no such names")
@pytest.mark.parametrize("folder", ["workflows", "nodes", "data"])
def test_file_whose_name_is_no_utf_8_is_refused_by_an_escaped_name(tmp_path: Path, folder: str) -> None:
    desk = write(price_desk(tmp_path), {"data/prices.json": "{}"})
    path = sorted((desk / folder).iterdir())[0]
    path.rename(os.fsdecode(os.fsencode(path.parent) + b"/na\xffme" + os.fsencode(path.suffix)))
    with pytest.raises(UsageError, match=r"the name of '.*na\\xffme\.\w+' is no UTF-8, and a bundle's manifest is"):
        collect(ProjectIndex(desk), ["data"])


@pytest.mark.parametrize(
    ("link", "target", "why"),
    [
        ("artifacts/daily.md", "../../beside.md", "leads outside of the project"),
        ("artifacts/daily.md", "../.private/daily.md", "may hold secrets"),
        ("nodes/extra.py", "../../beside.py", "leads outside of the project"),
        ("workflows/more.yaml", "../../beside.yaml", "leads outside of the project"),
    ],
)
def test_link_that_leads_out_is_refused(tmp_path: Path, link: str, target: str, why: str) -> None:
    desk = price_desk(tmp_path / "desk")
    write(tmp_path, {"beside.md": NEEDED["artifacts/daily.md"], "beside.py": "x = 1\n"})
    write(tmp_path, {"beside.yaml": NEEDED["workflows/ask.yaml"].replace("ask_daily", "more")})
    write(desk, {".private/daily.md": NEEDED["artifacts/daily.md"]})
    (desk / link).unlink(missing_ok=True)
    (desk / link).symlink_to(target)
    with pytest.raises(UsageError, match=why):
        collect(ProjectIndex(desk))


def test_link_inside_the_project_is_shipped_as_the_file_it_leads_to(tmp_path: Path) -> None:
    desk = price_desk(tmp_path)
    (desk / "artifacts" / "daily.md").rename(desk / "daily-text.md")
    (desk / "artifacts" / "daily.md").symlink_to("../daily-text.md")
    assert collect(ProjectIndex(desk)).files["artifacts/daily.md"] == NEEDED["artifacts/daily.md"].encode()


def test_script_outside_of_the_project_is_refused(tmp_path: Path) -> None:
    models = NEEDED["llms/models.yaml"].replace("scripts/cheap.yaml", "../../replies.yaml")
    desk = write(price_desk(tmp_path / "desk"), {"llms/models.yaml": models})
    write(tmp_path, {"replies.yaml": "- { text: hello }\n"})
    with pytest.raises(UsageError, match="outside of the project"):
        collect(ProjectIndex(desk))


def test_secret_in_a_file_that_checks_do_not_read_is_found(tmp_path: Path) -> None:
    key = "sk-" + "Zq7Rt2Lm9Xw4Kp8Vn3Yb6Hd1" * 2
    desk = write(price_desk(tmp_path), {"nodes/helpers.py": f'SUM = sum\nKEY = "{key}"\n'})
    found = list(secrets_in(collect(ProjectIndex(desk))))
    assert [line.split(" ")[0] for line in found] == ["nodes/helpers.py:2:"]
    assert key not in found[0]


def test_project_without_workflows_has_nothing_to_ship(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no workflow to ship"):
        collect(ProjectIndex(write(tmp_path, {"tuvl.yaml": NEEDED["tuvl.yaml"]})))


def test_version_that_can_be_no_name_is_refused(tmp_path: Path) -> None:
    config = NEEDED["tuvl.yaml"].replace("1.4.0", "../1")
    with pytest.raises(UsageError, match=r"`metadata.version`.*'\.\./1'"):
        release_of(write(price_desk(tmp_path), {"tuvl.yaml": config}))


def test_variables_are_those_of_configuration_and_optional_where_they_have_a_default(tmp_path: Path) -> None:
    needs = needs_of(collect(ProjectIndex(price_desk(tmp_path))))
    assert {variable.name: variable.optional for variable in needs.variables} == {
        "API_BASE": True,
        "MODEL_KEY": False,
        "TUVL_DATABASE_URL": True,
    }


def test_hosted_model_without_a_key_of_its_own_may_find_one_in_the_environment(tmp_path: Path) -> None:
    ask = NEEDED["workflows/ask.yaml"].replace("model: careful", "model: mistral/small-2026-01")
    needs = needs_of(collect(ProjectIndex(write(price_desk(tmp_path), {"workflows/ask.yaml": ask}))))
    assert VariableNeed(name="MISTRAL_API_KEY", optional=True) in needs.variables
    assert ("mistral", "small-2026-01", None) in {(one.provider, one.model, one.preset) for one in needs.models}


def test_packages_of_nodes_are_found_by_what_they_import(tmp_path: Path) -> None:
    imports = "import os, helpers, yaml, nonesuch.deep\nfrom . import x\nfrom tuvl import node\n"
    desk = write(price_desk(tmp_path), {"nodes/more.py": imports})
    release = release_of(desk)
    assert release.needs.imports == ("nonesuch", "yaml")
    assert [package.name for package in release.node_packages] == ["pyyaml"]
    assert ["nonesuch" in line for line in warnings_of(release)] == [True]


def test_list_of_packages_that_the_tests_did_not_run_with_warns(tmp_path: Path) -> None:
    desk = write(price_desk(tmp_path), {"requirements.txt": "pyyaml==1.0  # old\nnonesuch>=1\n--no-index\nhttpx\n"})
    told = list(warnings_of(release_of(desk)))
    assert [("pyyaml==1.0" in line, "nonesuch>=1" in line) for line in told] == [(True, False), (False, True)]
