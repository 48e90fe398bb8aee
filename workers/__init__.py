"""What is measured: N workers, each running its own event loop, in a child process of their own.

This package runs inside every build under test, so it imports the standard library and what the
workload itself needs, nothing else. A workload of your own starts with::

    from workers import Worker, Workload, parameter
"""

from workers.worker.handle import Worker
from workers.worker.workload import Workload, parameter

__all__ = ["Worker", "Workload", "parameter"]
