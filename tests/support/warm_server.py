"""Imports the command line once and forks a process for each command: the other end of `warm.py`.

It is started as `warm_server.py FD MODULE…`: FD is its socket, and the modules are imported before the first command.
A request is a JSON object, `{"argv": [...], "cwd": ..., "env": {...}}`, with four open files: the three streams of the
new process, and a pipe to which its number and, when it has ended, its exit code are written. A `program` in it is the
script that the command was started by; without one it was started as `python -m tuvl`.
"""

import contextlib
import importlib
import json
import os
import selectors
import socket
import sys

from tuvl import __main__ as command_line

LONGEST_REQUEST = 1 << 18


class Asked(Exception):
    """Leaves the loop in a new process, which has a command to run."""

    def __init__(self, argv: list[str], program: str | None) -> None:
        self.argv = argv
        self.program = program


def serve(asking: socket.socket) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(asking, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.data is None:
                    if not start(asking, selector):
                        return
                else:
                    selector.unregister(key.fd)
                    ended(key.fd, *key.data)


def start(asking: socket.socket, selector: selectors.BaseSelector) -> bool:
    request, files, _, _ = socket.recv_fds(asking, LONGEST_REQUEST, 4)
    if not request:
        return False
    asked = json.loads(request)
    pid = os.fork()
    if pid == 0:
        asking.close()
        selector.close()
        for number, file in enumerate(files[:3]):
            os.dup2(file, number)
        # What is left is the server's: these files, and the pipes of other commands that are running.
        os.closerange(3, 256)
        os.chdir(asked["cwd"])
        os.environ.clear()
        os.environ.update(asked["env"])
        raise Asked(asked["argv"], asked.get("program"))
    for file in files[:3]:
        os.close(file)
    with contextlib.suppress(BrokenPipeError):
        os.write(files[3], f"{pid}\n".encode())
    selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, files[3]))
    return True


def ended(pidfd: int, pid: int, told: int) -> None:
    os.close(pidfd)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(BrokenPipeError):  # whoever asked has been killed
        os.write(told, f"{code}\n".encode())
    os.close(told)


if __name__ == "__main__":
    for name in sys.argv[2:]:
        importlib.import_module(name)
    try:
        serve(socket.socket(fileno=int(sys.argv[1])))
        command = None
    except Asked as asked:
        command = asked
    if command is not None:
        # As `python -m tuvl` has it, or the script.
        sys.path[0] = os.path.dirname(command.program) if command.program else os.getcwd()
        sys.argv = [command.program or command_line.__file__, *command.argv]
        sys.exit(command_line.main())
