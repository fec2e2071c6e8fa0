"""Credentials in the text of any file, line by line, where no structure says what a value is for.

What one is, is said in `credentials`; here it is found: in addresses, in assignments of every notation, and alone.
"""

import re
from collections.abc import Iterator

from tuvl.analysis.credentials import looks_random, reads_as, secret_in

_LIKELY = re.compile(
    r"://|key|aws|amazon|secret|token|passw|passphrase|pwd|auth|bearer|credential|cookie", re.IGNORECASE
)
"""What a line has that any of the patterns below finds something in."""
_ADDRESS = re.compile(r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,30}://[^\s\"'<>`]{3,2000}", re.IGNORECASE)
_MEANT = re.compile(r"(?<=:)(?:password|passphrase|passwd|pass|pwd|secret)(?=@)", re.IGNORECASE)
"""What stands in addresses that show how one is written."""
_USER = re.compile(r"://([^/\s:@{}$]+)@")
_NAME = r"(?<![\w.-])(?P<name>[A-Za-z_][\w.-]{0,80})"
_QUOTED = re.compile(
    _NAME + r"[\"']?\s{0,4}(?::|=|=>|:=)\s{0,4}[rbfuRBFU]{0,2}(?P<quote>[\"'])(?P<value>[^\"'\n]{4,2000})(?P=quote)"
)
_VARIABLE = re.compile(
    r"^\s*(?P<lead>(?:(?:#|/|;|export\b|set\b|ENV\b|ARG\b|-e\b|-)\s{0,8}){0,8})"
    + _NAME
    + r"\s{0,4}=\s{0,4}(?P<value>[^\s\"'#;,()]{4,2000})\s*(?:#.*)?$"
)
_PLAIN = re.compile(_NAME + r"\s{0,4}:\s{1,4}(?P<value>[^\s\"'#,{}\[\]()]{8,2000})")
_OF_A_CLOUD = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_ABOUT_A_CLOUD = re.compile(r"aws|amazon|secret", re.IGNORECASE)
_ELSEWHERE = re.compile(
    r"[$%<]|.*\{.*\}|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$|[A-Za-z_]*(?:password|passwd|secret|token)$", re.IGNORECASE
)
"""Values that name where the credential is, or say that one is meant."""
_CODE = re.compile(r".*\.(?:py|pyi|js|ts|mjs|cjs|go|rs|java|kt|rb|sh|bash)", re.IGNORECASE)


def credential_lines(text: str, *, name: str) -> Iterator[tuple[int, str]]:
    """Yield each line that holds a credential, counted from 1, and what it looks like.

    `name` is the file's, which tells code from settings: in code a value stands in quotes.
    """
    code = _CODE.fullmatch(name) is not None
    for number, line in enumerate(text.splitlines(), start=1):
        what = secret_in(line) or (_in_line(line, code=code) if _LIKELY.search(line) is not None else None)
        if what is not None:
            yield number, what


def credential_in_address(line: str) -> str | None:
    """Say which kind of credential an address of a line holds."""
    for found in _ADDRESS.finditer(line):
        address = _MEANT.sub("", found[0])
        what = reads_as(address, ())
        if what is not None:
            return what
        user = _USER.search(address)
        if user is not None and len(user[1]) >= 16 and looks_random(user[1]):
            return "a URL with a key or token"
    return None


def _in_line(line: str, *, code: bool) -> str | None:
    return credential_in_address(line) or _assigned(line, code=code) or _of_a_cloud(line)


def _assigned(line: str, *, code: bool) -> str | None:
    for quoted in _QUOTED.finditer(line):
        value, name = quoted["value"], quoted["name"]
        if _ELSEWHERE.match(value) is None:
            # In quotes a plain word is more often a word, a type or a field's name, than a password.
            is_word = value.isalpha() and value.islower()
            what = reads_as(value, (name,)) or (None if is_word else reads_as(value, ("env", name)))
            if what is not None:
                return what
    variable = _VARIABLE.match(line)
    if variable is not None and (not code or variable["lead"].strip()) and _ELSEWHERE.match(variable["value"]) is None:
        what = reads_as(variable["value"], ("env", variable["name"]))
        if what is not None:
            return what
    for plain in () if code and "#" not in line else _PLAIN.finditer(line):
        if _ELSEWHERE.match(plain["value"]) is None:
            what = reads_as(plain["value"], (plain["name"],))
            if what is not None:
                return what
    return None


def _of_a_cloud(line: str) -> str | None:
    """The secret half of a cloud's access key, which has no name of its own."""
    if _ABOUT_A_CLOUD.search(line) is None:
        return None
    for found in _OF_A_CLOUD.finditer(line):
        mixed = any(map(str.isupper, found[0])) and any(map(str.islower, found[0]))
        digits = sum(map(str.isdecimal, found[0])) + sum(map("/+".count, found[0]))
        if mixed and digits > 1 and looks_random(found[0]) and "EXAMPLE" not in found[0]:
            return "what looks like a cloud secret key"
    return None
