"""No credential leaves in a bundle or beside it, wherever it stands; and what is none stops nobody."""

import codecs
from pathlib import Path

import pytest

from tests.cli.cli_support import write
from tests.shipping.shipping_support import NEEDED, price_desk
from tuvl.__main__ import main
from tuvl.analysis.credential_lines import credential_lines
from tuvl.project.index import ProjectIndex
from tuvl.shipping.contents import collect
from tuvl.shipping.secrets import secrets_beside, secrets_in

KEY = "sk-proj-" + "Zq7Rt2Lm9Xw4Kp8Vn3Yb6Hd1" * 2
PASSWORD = "S3cr3tPassw0rd"
CLOUD = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY"
NODES = NEEDED["nodes/prices.py"]


def commented(path: str) -> str:
    return f"{NEEDED[path]}# the old key was {KEY}\n"


SHIPPED = {
    "comment of a workflow": ("workflows/price.yaml", commented("workflows/price.yaml")),
    "comment of the configuration": ("tuvl.yaml", commented("tuvl.yaml")),
    "comment of a script": ("llms/scripts/cheap.yaml", commented("llms/scripts/cheap.yaml")),
    "comment of a model": ("llms/models.yaml", commented("llms/models.yaml")),
    "front matter": (
        "artifacts/daily.md",
        NEEDED["artifacts/daily.md"].replace("version: 1\n", f"version: 1 # {KEY}\n"),
    ),
    "prose": ("artifacts/daily.md", f"{NEEDED['artifacts/daily.md']}\nUse {KEY}.\n"),
    "index of packages": ("requirements.txt", f"--index-url https://user:{PASSWORD}@packages.example.org/simple\n"),
    "index with a token": (
        "requirements.txt",
        f"--extra-index-url https://{'q7Rt2Lm9Xw4Kp8Vn3Yb6'}@packages.shop.org/\n",
    ),
    "address of a database": ("nodes/prices.py", f'{NODES}URL = "postgresql://app:{PASSWORD}@db.shop.org/prod"\n'),
    "key of a cloud": ("nodes/prices.py", f'{NODES}AWS_SECRET_ACCESS_KEY = "{CLOUD}"\n'),
    "key of a cloud by another name": ("nodes/prices.py", f'{NODES}session(aws, "{CLOUD}")\n'),
    "password in code": ("nodes/prices.py", f'{NODES}connect(password="{PASSWORD}")\n'),
    "password in JSON": ("extra/x.json", f'{{ "db": {{ "password": "{PASSWORD}" }} }}\n'),
    "password of settings": ("extra/settings.ini", "[db]\nDB_PASSWORD=hunter2\n"),
    "password of a shell": ("extra/env.sh", "# export DB_PASSWORD=hunter2\n"),
    "password in a table": ("extra/x.toml", f"db_password = '{PASSWORD}'\n"),
    "key in a comment by its name": (
        "workflows/price.yaml",
        f"{NEEDED['workflows/price.yaml']}# api_key: {PASSWORD}77\n",
    ),
}
WIDE = {
    "utf-16": f"key {KEY}".encode("utf-16"),
    "utf-16-le": f"key {KEY}".encode("utf-16-le"),
    "utf-16-be": codecs.BOM_UTF16_BE + f"key {KEY}".encode("utf-16-be"),
    "utf-32": f"key {KEY}".encode("utf-32"),
    "utf-8 with a mark": codecs.BOM_UTF8 + f"key {KEY}".encode(),
    "latin-1": f"\u00e4 {KEY}".encode("latin-1"),
}


def found(folder: Path) -> list[str]:
    include = ["extra"] if (folder / "extra").exists() else []
    return list(secrets_in(collect(ProjectIndex(folder), include)))


@pytest.mark.parametrize("case", SHIPPED)
def test_secret_is_found_wherever_it_stands_in_what_is_shipped(tmp_path: Path, case: str) -> None:
    path, text = SHIPPED[case]
    told = found(write(price_desk(tmp_path), {path: text}))
    assert [line.split(":")[0] for line in told] == [path]
    assert not any(secret in told[0] for secret in (KEY, PASSWORD, CLOUD, "hunter2"))


@pytest.mark.parametrize("encoding", WIDE)
def test_secret_is_found_in_every_encoding(tmp_path: Path, encoding: str) -> None:
    desk = price_desk(tmp_path)
    (desk / "extra").mkdir()
    (desk / "extra" / "notes.txt").write_bytes(WIDE[encoding])
    assert [line.split(" ")[0] for line in found(desk)] == ["extra/notes.txt:1:"]


HARMLESS = {
    "settings.ini": [
        "DB_PASSWORD=${DB_PASSWORD}",
        "DB_PASSWORD=$DB_PASSWORD",
        "DB_PASSWORD=%DB_PASSWORD%",
        "DB_PASSWORD=changeme",
        "DB_PASSWORD=<your password>",
        "DB_PASSWORD=",
        "password_file=/run/secrets/db",
        "API_KEY=your-key-here",
        "max_tokens=100000000",
        "--index-url https://packages.example.org/simple",
        "--extra-index-url https://${TOKEN}@packages.example.org/simple",
        "--hash=sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
        "postgresql://user:password@host/db",
        "postgresql://app:${DB_PASSWORD}@host/db",
        "https://example.org:8080/a@b",
    ],
    "code.py": [
        'password = os.environ["DB_PASSWORD"]',
        "password = get_password()",
        "token=args.token",
        'TOKEN_FIELD = "token"',
        '{"password": "string"}',
        'secret_name = "db-credentials"',
        "def check(password: str, token: Token) -> bool:",
        'headers = {"Authorization": f"Bearer {token}"}',
        "class V1OrganizationExternalKeysPostRequestAws:  # secret",
    ],
    "flow.yaml": [
        'api_key: "${MODEL_KEY}"',
        "# the password is in the safe of the shop",
        "token_budget: 12000",
        "digest: sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
        "required: [password, token]",
        "password: { type: string, minLength: 8 }",
        "secretKeyRef: { name: price-desk-secrets, key: MODEL_KEY }",
    ],
}


@pytest.mark.parametrize(("name", "line"), [(name, line) for name, lines in HARMLESS.items() for line in lines])
def test_what_only_speaks_of_credentials_stops_nobody(name: str, line: str) -> None:
    assert list(credential_lines(line, name=name)) == []


def test_comment_with_a_reason_says_why_what_looks_like_one_is_none(tmp_path: Path) -> None:
    node = f'{NODES}KEY = "{KEY}"  # tuvl: ignore[TV701] of the sandbox that the tests start\n'
    assert found(write(price_desk(tmp_path), {"nodes/prices.py": node})) == []
    without = node.replace(" of the sandbox that the tests start", "")
    assert len(found(write(price_desk(tmp_path), {"nodes/prices.py": without}))) == 1


def test_files_beside_the_bundle_are_looked_at_too() -> None:
    files = {"x.tuvl": KEY.encode(), "requirements.txt": f"--index-url https://u:{PASSWORD}@h.org/\n".encode()}
    assert [line.split(" ")[0] for line in secrets_beside(files, "x.tuvl")] == ["requirements.txt:1"]


def test_ship_stops_at_a_secret_in_a_comment_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    desk = write(price_desk(tmp_path / "desk"), {"workflows/price.yaml": commented("workflows/price.yaml")})
    monkeypatch.chdir(desk)
    assert main(["ship", "--no-build"]) == 1
    told = capfd.readouterr()
    assert f"workflows/price.yaml:{commented('workflows/price.yaml').count(chr(10))}: the text holds" in told.err
    assert "nothing is shipped: whoever has the bundle would have the secret" in told.err
    assert KEY not in told.err + told.out
    assert not (desk / "dist").exists()


def test_long_lines_take_no_longer_than_they_are(tmp_path: Path) -> None:
    """A line of code that a program wrote, and one of nothing but letters, a megabyte each."""
    line = "x=" + "a" * 1_000_000 + "://" + "password" * 10 + ":" * 100_000
    assert list(credential_lines(line, name="x.txt")) == []
