"""Text from elsewhere inside a message, marked so that a model can tell it from what it is told to do."""

import hashlib

from tuvl.values import dump_json


def delimited(name: str, text: str) -> str:
    """Mark a text as untrusted data.

    The delimiter is made from a digest of the text, so that the text cannot hold its own closing delimiter.
    """
    mark = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]
    return f"<untrusted-{mark} name={dump_json(name)}>\n{text}\n</untrusted-{mark}>"
