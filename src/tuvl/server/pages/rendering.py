"""The templates of the pages, and the files beside them; everything that is put into a template is escaped."""

from functools import cache
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

from tuvl.dataclass import dataclass
from tuvl.drawing.svg import style

_FILES = {"pages.css": "text/css", "pages.js": "text/javascript", "icon.svg": "image/svg+xml"}
_FIGURE = "figure.css"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What stands around every page; without `who` nobody is signed in."""

    project: str
    version: str
    who: str = ""
    csrf: str = ""
    here: str = ""
    """The page among those of the navigation."""
    waiting: int = 0
    """How many questions wait for who is signed in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A file that pages load."""

    content: bytes
    media_type: str
    digest: str


@cache
def asset(name: str) -> Asset | None:
    """Return a file that pages load; `None` when there is none of that name."""
    if name == _FIGURE:
        # The rules of a drawing that stands alone, kept inside of it.
        return _asset(f".graph{{{style()}}}".encode(), "text/css")
    media_type = _FILES.get(name)
    if media_type is None:
        return None
    return _asset(files("tuvl.server.pages").joinpath("assets", name).read_bytes(), media_type)


def _asset(content: bytes, media_type: str) -> Asset:
    return Asset(content=content, media_type=media_type, digest=sha256(content).hexdigest()[:12])


def asset_path(name: str) -> str:
    """Return the address of such a file; it changes with the content, so that it can be kept for ever."""
    found = asset(name)
    if found is None:
        raise LookupError(f"there is no file {name!r} for pages")
    return f"/assets/{name}?v={found.digest}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tuvl.server.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals["asset"] = asset_path
    return environment


def render(template: str, **values: object) -> str:
    """Fill in a template."""
    return _environment().get_template(template).render(values)
