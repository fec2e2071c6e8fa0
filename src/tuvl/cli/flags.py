"""Reads the words of one command without Typer, whose import would take a fifth of a run's time.

Only the names stand here; what they mean stands in the Typer app, which renders every `--help`. A test holds the
two together.
"""

from collections.abc import Mapping, Sequence
from itertools import takewhile

from tuvl.dataclass import dataclass
from tuvl.errors import UsageError
from tuvl.suggest import did_you_mean
from tuvl.wording import positive

HELP = frozenset({"--help", "-h"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """What one command takes; option names with their dashes."""

    command: str
    values: frozenset[str] = frozenset()
    """Options followed by one value; given twice is an error."""
    repeated: frozenset[str] = frozenset()
    """Options followed by a value that may be given several times."""
    switches: frozenset[str] = frozenset()
    """Options without a value."""
    most_arguments: int | None = None
    """How many arguments beside options; `None` is any number."""

    @property
    def names(self) -> frozenset[str]:
        """All option names."""
        return self.values | self.repeated | self.switches


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A command line, read."""

    arguments: tuple[str, ...]
    given: Mapping[str, tuple[str, ...]]

    def one(self, name: str) -> str | None:
        """Return the value of an option that was given, else `None`."""
        values = self.given.get(name)
        return values[0] if values else None

    def all(self, name: str) -> tuple[str, ...]:
        """Return every value of a repeatable option, in order."""
        return self.given.get(name, ())

    def on(self, name: str) -> bool:
        """Tell whether a switch was given."""
        return name in self.given


def wants_help(argv: Sequence[str]) -> bool:
    """Tell whether `--help` stands among the words, before a `--`."""
    before_end = takewhile(lambda word: word != "--", argv)
    return any(word in HELP for word in before_end)


def read_words(flags: Flags, argv: Sequence[str]) -> Words:
    """Sort words into arguments and options; `--name=value` and `--name value` are the same, `--` ends options.

    Raises `UsageError` that names the word, with a did-you-mean.
    """
    arguments: list[str] = []
    given: dict[str, tuple[str, ...]] = {}
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            arguments += rest
            break
        if word == "-" or not word.startswith("-"):
            arguments.append(word)
            continue
        name, equals, value = word.partition("=")
        values = (_value(flags, name, value if equals else None, rest),) if name not in flags.switches else ()
        if name in flags.switches and equals:
            raise UsageError(f"option {name!r} of `tuvl {flags.command}` takes no value")
        if name in given and name in flags.values:
            raise UsageError(f"option {name!r} is given twice; give it once")
        given[name] = given.get(name, ()) + values
    if flags.most_arguments is not None and len(arguments) > flags.most_arguments:
        extra = arguments[flags.most_arguments]
        raise UsageError(f"`tuvl {flags.command}` takes {flags.most_arguments} argument(s); {extra!r} is one too many")
    return Words(arguments=tuple(arguments), given=given)


def _value(flags: Flags, name: str, inline: str | None, rest: list[str]) -> str:
    if name not in flags.names:
        hint = did_you_mean(name, sorted(flags.names)) or f"`tuvl {flags.command} --help` lists them"
        raise UsageError(f"`tuvl {flags.command}` has no option {name!r}; {hint}")
    if inline is not None:
        return inline
    # A following option is not a value: `--input --trace` forgot one. A lone dash is: it means stdin.
    if not rest or (rest[0].startswith("--") and rest[0] != "--"):
        raise UsageError(f"option {name!r} needs a value, e.g. `{name} VALUE`")
    return rest.pop(0)


def limit_of(option: str, word: str | None, *, whole: bool = False) -> float | None:
    """Read the value of an option that sets a limit; raises `UsageError` for anything but a number above 0.

    `whole` says that it counts things, of which there is no half.
    """
    if word is None:
        return None
    value = positive(word)
    if value is None or (whole and not value.is_integer()):
        raise UsageError(f"{option} takes a {'whole ' if whole else ''}number above 0, not {word!r}")
    return value
