"""`artifact://name[@version]`."""

import pytest

from tuvl.artifacts.reference import SITE_TYPES, TYPES, ArtifactRef


@pytest.mark.parametrize(
    ("text", "name", "version"),
    [
        ("artifact://a", "a", None),
        ("artifact://House.rules-2_x@12", "House.rules-2_x", 12),
        ("artifact://9@1", "9", 1),
    ],
)
def test_reference_is_read_and_written_alike(text: str, name: str, version: int | None) -> None:
    reference = ArtifactRef.parse(text)
    assert reference == ArtifactRef(name, version)
    assert str(reference) == text


@pytest.mark.parametrize(
    "text",
    [
        "artifact://",
        "artifact:// a",
        "artifact://a@",
        "artifact://a@0",
        "artifact://a@01",
        "artifact://a@-1",
        "artifact://a@latest",
        "artifact://a@1\n",
        "artifact://a/b",
        "artifact://-a",
        "artifact://ä",
        "Artifact://a",
        "see artifact://a",
        "a@1",
    ],
)
def test_anything_else_is_no_reference(text: str) -> None:
    assert ArtifactRef.parse(text) is None


def test_every_type_has_a_site() -> None:
    assert {type_ for types in SITE_TYPES.values() for type_ in types} == set(TYPES)
