"""What is measured: N workers, each with its own event loop, in a child process of `scaling`.

This package runs inside every build under test. It imports the standard library and what the
workload itself needs, nothing else. Your own workload starts with::

    from workers import Worker, Workload, parameter

Servers that people deploy with have workers of their own: `workers.outside` measures those.
"""

import sys

if sys.version_info < (3, 12):
    raise SystemExit("workers: Python 3.12 or newer is needed; install one: uv python install 3.14")

from workers.worker.handle import Worker
from workers.worker.workload import Rounds, Workload, parameter

__all__ = ["Rounds", "Worker", "Workload", "parameter"]
