"""Values in a URL stay where they were put."""

from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuvl.errors import TemplateError
from tuvl.http.url import compile_url, host_and_port
from tuvl.http.url_parts import UrlSyntaxError, host_is_templated, split_url

WHERE = "step 'x' field 'http.url'"


def nothing(host: str, port: int) -> bool:
    return False


def render(text, covers=nothing, **values):
    return compile_url(text, where=WHERE).render(values, covers=covers)


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("A-1", "A-1"),
        (7, "7"),
        (1.5, "1.5"),
        (True, "true"),
        ("a/b", "a%2Fb"),
        ("../admin", "..%2Fadmin"),
        ("x?admin=1#f", "x%3Fadmin%3D1%23f"),
        ("café ☃", "caf%C3%A9%20%E2%98%83"),
        ("a\r\nX-Evil: 1", "a%0D%0AX-Evil%3A%201"),
        ("%2e%2e", "%252e%252e"),
        ("{{ secret }}", "%7B%7B%20secret%20%7D%7D"),
    ],
)
def test_path_value_stays_in_its_segment(value, sent):
    assert render("https://api.example.com/orders/{{ id }}/lines", id=value) == (
        f"https://api.example.com/orders/{sent}/lines"
    )


@pytest.mark.parametrize("value", ["", ".", ".."])
def test_value_that_would_climb_or_vanish_is_refused(value):
    with pytest.raises(TemplateError, match="a path segment became"):
        render("https://api.example.com/orders/{{ id }}", id=value)


def test_dots_beside_other_text_are_fine():
    assert render("https://api.example.com/v{{ n }}/{{ a }}{{ b }}.json", n=1, a="x", b="..").endswith("/v1/x...json")
    with pytest.raises(TemplateError):
        render("https://api.example.com/{{ a }}{{ b }}", a=".", b=".")


@pytest.mark.parametrize("value", ["a&admin=1", "a=b", "a#b", "a b", "a+b", "é", "a%26b", ""])
def test_query_value_stays_one_value(value):
    url = render("https://api.example.com/s?q={{ q }}&page=1", q=value)
    assert parse_qsl(urlsplit(url).query, keep_blank_values=True) == [("q", value), ("page", "1")]


@pytest.mark.parametrize("value", [None, [1], {"a": 1}])
def test_value_that_is_no_text_is_refused(value):
    with pytest.raises(TemplateError, match="a URL takes text and numbers"):
        render("https://api.example.com/{{ id }}", id=value)


def test_missing_variable_names_it_and_the_field():
    """K03, H06."""
    with pytest.raises(TemplateError, match="order_idd") as caught:
        render("https://api.example.com/orders/{{ order_idd }}", order_id=1)
    assert "http.url" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("{{ base }}/orders", {"base": "https://api.example.com"}),
        ("https://{{ tenant }}.example.com/orders", {"tenant": "api"}),
        ("https://api.example.com:{{ port }}/orders", {"port": 443}),
    ],
)
def test_host_from_a_template_must_be_allowed(text, values):
    with pytest.raises(TemplateError, match="allow_hosts"):
        render(text, **values)
    asked = []
    assert render(text, covers=lambda host, port: asked.append((host, port)) or True, **values)
    assert asked == [("api.example.com", 443)]


@pytest.mark.parametrize(
    "value", ["evil.com/x", "evil.com#", "a@evil.com", "evil.com?", "evil.com:80", "a\\b", "", "a b"]
)
def test_part_of_a_host_is_nothing_else(value):
    with pytest.raises(TemplateError, match="not part of a host name"):
        render("https://{{ tenant }}.example.com/orders", covers=lambda host, port: True, tenant=value)


@pytest.mark.parametrize(
    "value",
    ["file:///etc/passwd", "ftp://x", "//x", "x", "https://a@b", "https://x?q=1", "https://x#f", "https://x\\y", ""],
)
def test_base_that_is_no_plain_http_url_is_refused(value):
    with pytest.raises(TemplateError):
        render("{{ base }}/orders", covers=lambda host, port: True, base=value)


def test_base_may_have_a_path_and_a_final_slash():
    url = render("{{ base }}/orders/{{ id }}", covers=lambda host, port: True, base="http://h:8/v1/", id="a/b")
    assert url == "http://h:8/v1/orders/a%2Fb"


@pytest.mark.parametrize("text", ["ftp://x/y", "/orders", "orders", "https://", "http://[::1/x", "https://x:99999/"])
def test_host_is_told_only_of_absolute_http_urls(text):
    with pytest.raises(TemplateError):
        host_and_port(text, where=WHERE)


@pytest.mark.parametrize("text", ["https://x/{% if a %}b{% endif %}", "https://x/{# c #}", "https://x/{{ a"])
def test_statements_comments_and_open_expressions_are_refused(text):
    with pytest.raises(TemplateError, match=r"field 'http\.url'"):
        compile_url(text, where=WHERE)
    with pytest.raises(UrlSyntaxError):
        split_url(text)


def test_expression_may_hold_braces_and_quotes():
    text = "https://x/{{ {'a': '}}'}['a'] }}/z"
    assert split_url(text) == ("https://x/", "{{ {'a': '}}'}['a'] }}", "/z")


@pytest.mark.parametrize(
    ("text", "templated"),
    [
        ("https://api.example.com/{{ a }}", False),
        ("https://api.example.com?q={{ a }}", False),
        ("https://{{ a }}/x", True),
        ("{{ a }}", True),
        ("https://api.example.com{{ path }}", True),
        ("https://api.example.com", False),
    ],
)
def test_whether_the_host_is_templated_is_told_without_rendering(text, templated):
    assert host_is_templated(text) is templated


def test_label_shows_neither_values_nor_query_nor_credentials():
    url = compile_url("https://user:pass@api.example.com/o/{{ id }}?api_key=s3cret#f", where=WHERE)
    assert url.label == "https://api.example.com/o/{{ id }}"
    assert url.names == {"id"}


@given(segment=st.text(min_size=1), query=st.text())
def test_no_text_leaves_its_place(segment, query):
    if segment in {".", ".."} or any("\ud800" <= char <= "\udfff" for char in segment + query):
        return
    url = render("https://api.example.com/a/{{ s }}/b?q={{ q }}&z=1#end", s=segment, q=query)
    parts = urlsplit(url)
    assert (parts.scheme, parts.netloc, parts.fragment) == ("https", "api.example.com", "end")
    assert [unquote(part) for part in parts.path.split("/")] == ["", "a", segment, "b"]
    assert parse_qsl(parts.query, keep_blank_values=True) == [("q", query), ("z", "1")]
