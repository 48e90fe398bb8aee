"""The measured program: N workers, each with its own event loop, in a child process of `scaling`.

This package runs inside every build under test. It imports the standard library and what the
workload itself needs, nothing else. Data takes this way through it:

    cell        one point of a study, as JSON from the driver
    host        starts N workers of a model, opens one window for all, makes the record
    worker      the session of one worker, and its meter
    loops       the event loops that a session runs on
    workloads   the traffic on a loop, one file each
    readback    the state that was really in use, for the record

`describe` lists what can run here, and plans are made from that. `services` are what workloads
talk to, and the load generator. `outside` takes the place of the host where people's own servers
have the workers. Your own workload starts with::

    from workers import Worker, Workload, parameter
"""

import sys

if sys.version_info < (3, 12):
    raise SystemExit("workers: Python 3.12 or newer is needed; install one: uv python install 3.14")

from workers.worker.handle import Worker
from workers.worker.workload import Rounds, Workload, parameter

__all__ = ["Rounds", "Worker", "Workload", "parameter"]
