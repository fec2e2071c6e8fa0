"""On what the figures were measured."""

import os
import platform
from pathlib import Path

import tuvl


def machine() -> list[str]:
    """Describe the machine in a few lines, without its name or anybody's."""
    return [
        f"{os.cpu_count()} cores, {processor()}",
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, tuvl {tuvl.__version__}",
    ]


def processor() -> str:
    """Name the processor, as well as the system tells."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "processor unknown"
