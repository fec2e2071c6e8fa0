"""Commands that messages tell people to run: whole, so that they can be pasted whatever a file is called."""

import shlex


def command(*words: object) -> str:
    """Write a command as a shell takes it: words with blanks or other signs of the shell are quoted."""
    return shlex.join(map(str, words))
