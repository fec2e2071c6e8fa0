"""The filters that make text and numbers. Whatever they return fits the budget of a rendering."""

import hashlib
import html
import json
import re
import textwrap
import unicodedata
from urllib.parse import quote, quote_plus

from tuvl.templating.calls import Call, Registry
from tuvl.templating.lookup import kind_of
from tuvl.templating.operators import checked_number
from tuvl.values import JsonValue, dump_json

TEXT_FILTERS = Registry()
_filter = TEXT_FILTERS.add


@_filter("string")
def _string(call: Call) -> JsonValue:
    return call.produce(call.subject)


@_filter("upper")
def _upper(call: Call) -> JsonValue:
    return call.produce(call.subject.upper())


@_filter("lower")
def _lower(call: Call) -> JsonValue:
    return call.produce(call.subject.lower())


@_filter("capitalize")
def _capitalize(call: Call) -> JsonValue:
    return call.produce(call.subject.capitalize())


_WORD_START = re.compile(r"([-\s({\[<]+)")


@_filter("title")
def _title(call: Call) -> JsonValue:
    text = call.subject
    call.rendering.work(len(text) // 4)
    words = _WORD_START.split(text)
    return call.produce("".join(word[:1].upper() + word[1:].lower() for word in words if word))


@_filter("trim", takes="chars?")
def _trim(call: Call) -> JsonValue:
    return call.produce(call.subject.strip(call.text("chars") if call.has("chars") else None))


@_filter("replace", takes="old new count?")
def _replace(call: Call) -> JsonValue:
    text, old, new = call.subject, call.text("old"), call.text("new")
    count = call.integer("count", -1, least=-1)
    found = text.count(old) if count < 0 else min(text.count(old), count)
    call.rendering.write(len(text) + found * max(len(new) - len(old), 0))
    return text.replace(old, new, count)


@_filter("center", takes="width?")
def _center(call: Call) -> JsonValue:
    width = call.integer("width", 80)
    call.rendering.write(width)
    return call.produce(call.subject.center(width))


@_filter("indent", takes="width? first? blank?")
def _indent(call: Call) -> JsonValue:
    width = call.get("width", 4)
    prefix = width if isinstance(width, str) else " " * call.integer("width", 4, most=1000)
    lines = call.subject.split("\n")
    call.rendering.write((len(prefix) + 1) * len(lines))
    blank = call.flag("blank")
    body = [prefix + line if line.strip() or blank else line for line in lines[1:]]
    head = prefix + lines[0] if call.flag("first") else lines[0]
    return call.produce("\n".join([head, *body]))


@_filter("truncate", takes="length? killwords? end? leeway?")
def _truncate(call: Call) -> JsonValue:
    text, end = call.subject, call.text("end", "...")
    length = call.integer("length", 255, least=len(end))
    if len(text) <= length + call.integer("leeway", 5):
        return call.produce(text)
    head = text[: length - len(end)]
    return call.produce((head if call.flag("killwords") else head.rsplit(" ", 1)[0]) + end)


@_filter("wordwrap", takes="width? break_long_words? wrapstring? break_on_hyphens?")
def _wordwrap(call: Call) -> JsonValue:
    width = call.integer("width", 79, least=1)
    wrapstring = call.text("wrapstring", "\n")
    lines: list[str] = []
    text = call.subject
    call.rendering.work(len(text))
    for line in text.splitlines():
        lines += textwrap.wrap(
            line,
            width=width,
            expand_tabs=False,
            replace_whitespace=False,
            break_long_words=call.flag("break_long_words", True),
            break_on_hyphens=call.flag("break_on_hyphens", True),
        ) or [""]
    call.rendering.write(len(lines) * len(wrapstring))
    return call.produce(wrapstring.join(lines))


@_filter("wordcount")
def _wordcount(call: Call) -> JsonValue:
    return len(re.findall(r"\w+", call.subject))


@_filter("striptags")
def _striptags(call: Call) -> JsonValue:
    text = re.sub(r"<[^<>]*>", "", call.subject)
    return call.produce(" ".join(html.unescape(text).split()))


@_filter("escape", "e")
def _escape(call: Call) -> JsonValue:
    return call.produce(html.escape(call.subject))


@_filter("urlencode")
def _urlencode(call: Call) -> JsonValue:
    if isinstance(call.value, dict):
        return call.produce("&".join(f"{quote_plus(k)}={quote_plus(call.as_text(v))}" for k, v in call.value.items()))
    return call.produce(quote(call.subject, safe="/"))


@_filter("slug")
def _slug(call: Call) -> JsonValue:
    plain = unicodedata.normalize("NFKD", call.subject.casefold()).encode("ascii", "ignore").decode()
    return call.produce(re.sub(r"[^a-z0-9]+", "-", plain).strip("-"))


@_filter("sha256")
def _sha256(call: Call) -> JsonValue:
    return call.produce(hashlib.sha256(call.subject.encode()).hexdigest())


@_filter("tojson", takes="indent?")
def _tojson(call: Call) -> JsonValue:
    call.rendering.walk(call.value)
    if not call.has("indent") or call.get("indent") is None:
        return call.produce(dump_json(call.value))
    return call.produce(json.dumps(call.value, ensure_ascii=False, indent=call.integer("indent", 2, most=8)))


_CONVERSION = re.compile(r"%(?:%|[-+ 0#]*[0-9]{0,3}(?:\.[0-9]{0,2})?[sdifeEgGxXo])")


@_filter("format", takes="*")
def _format(call: Call) -> JsonValue:
    pattern, values = call.subject, call.get("more", [])
    if "%" in _CONVERSION.sub("", pattern):
        raise call.fail("takes conversions like %s, %d or %.2f, of at most three digits")
    arguments = tuple(call.as_text(v) if isinstance(v, list | dict | None) else v for v in _list(values))
    call.rendering.write(len(pattern) + 1000 * pattern.count("%"))
    try:
        return call.produce(pattern % arguments)
    except (TypeError, ValueError, OverflowError) as error:
        raise call.fail(f"cannot be filled: {error}") from None


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


@_filter("int", takes="default? base?")
def _int(call: Call) -> JsonValue:
    value, base = call.value, call.integer("base", 10, least=2, most=36)
    try:
        if isinstance(value, str):
            text = value.strip()
            if len(text) > 600:
                raise ValueError
            return int(text, base) if base != 10 or text.lstrip("+-").isdecimal() else int(float(text))
        return int(value) if isinstance(value, int | float) else call.get("default", 0)
    except (ValueError, OverflowError):
        return call.get("default", 0)


@_filter("float", takes="default?")
def _float(call: Call) -> JsonValue:
    try:
        if isinstance(call.value, str | int | float):
            return checked_number(float(call.value))
    except (ValueError, OverflowError):
        pass
    return call.get("default", 0.0)


@_filter("abs")
def _abs(call: Call) -> JsonValue:
    return abs(call.number)


@_filter("round", takes="precision? method?")
def _round(call: Call) -> JsonValue:
    precision, method = call.integer("precision", 0, least=-300, most=300), call.text("method", "common")
    if method not in ("common", "ceil", "floor"):
        raise call.fail("needs 'common', 'ceil' or 'floor' as `method`")
    try:
        if method == "common":
            return checked_number(float(round(call.number, precision)))
        scaled = call.number * 10.0**precision
        whole = -(-scaled // 1) if method == "ceil" else scaled // 1
        return checked_number(whole / 10.0**precision)
    except (OverflowError, ZeroDivisionError):
        raise call.fail("gives too large a number") from None


@_filter("filesizeformat", takes="binary?")
def _filesizeformat(call: Call) -> JsonValue:
    size, base = float(call.number), 1024 if call.flag("binary") else 1000
    if size == 1:
        return "1 Byte"
    if size < base:
        return f"{size:.0f} Bytes"
    units = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB") if base == 1024 else ("kB", "MB", "GB", "TB", "PB", "EB")
    for unit in units[:-1]:
        size /= base
        if size < base:
            return f"{size:.1f} {unit}"
    return f"{size / base:.1f} {units[-1]}"


@_filter("length", "count")
def _length(call: Call) -> JsonValue:
    if isinstance(call.value, str | list | dict):
        return len(call.value)
    raise call.fail(f"needs text, a list or a mapping, not {kind_of(call.value)}")
