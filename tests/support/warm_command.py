"""`tuvl` for a shell, forked from a process that has its imports behind it: asks the other end of `warm.py`.

It is started as `warm_command.py TUVL WORD…`: TUVL is the script that the command really is. What it has to know stands
in the variable `WARM`, which the command itself never sees.
"""

import json
import os
import signal
import socket
import sys

REAL = frozenset({"serve", "worker", "mcp", "lsp"})
"""Commands that go on until they are told to end: whoever ends them must have started them."""


def main(program: str, *argv: str) -> int:
    told = json.loads(os.environ.pop("WARM", '{"files": {}, "names": [], "usual": null}'))
    environ = dict(os.environ)
    started = {name: value for name, value in environ.items() if name.startswith(tuple(told["names"]))}
    if not argv or argv[0] in REAL or started != told["usual"]:
        for file in told["files"].values():
            os.set_inheritable(file, False)
        os.execv(program, [program, *argv])
    kind = "runs something" if argv[0] in told["runs"] else "reads only"
    asking = socket.socket(fileno=told["files"][kind])
    request = {"argv": argv, "cwd": os.getcwd(), "env": environ, "program": program}
    news, telling = os.pipe()
    socket.send_fds(asking, [json.dumps(request).encode()], [0, 1, 2, telling])
    os.close(telling)
    # The streams are the command's now; whoever reads them waits for its end, and not for this one's.
    with open(news, encoding="ascii") as lines:
        lines.readline()
        code = int(lines.readline())
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
