"""Services aborted at random instants: their driver is gone, or they are killed themselves.

All are forked from one process that has imported what they need, so that fifty cost seconds.
Arguments: how many, the folder of kept data, the URL of a database for pgbouncer.
"""

import os
import random
import signal
import sys
import time
from collections.abc import Callable

import asyncpg  # noqa: F401 - what each service imports when it starts

from scaling.builds.installed import program
from workers.services import nginx, pgbouncer, postgres
from workers.services.postgres import INSTALLED

LATEST_S = 0.5  # a service takes 0.1 to 0.4 s to start


def main(count: int, kept: str, url: str, rows: int) -> None:
    """Abort `count` services, some at a time."""
    random_ = random.Random(0)
    mains: list[tuple[Callable[[list[str]], int], list[str]]] = [
        (postgres.main, [f"--rows={rows}", f"--cache={kept}"]),
        *[(nginx.main, [f"--program={program('nginx')}", "http://127.0.0.1:1"])] * 2,
        *[(pgbouncer.main, [f"--program={program('pgbouncer')}"])] * 2,
    ]
    for _ in range(0, count, len(mains)):
        begun = [start(*each, url) for each in mains]
        due = sorted((random_.uniform(0, LATEST_S), *each) for each in begun)
        began_s = time.monotonic()
        for at_s, pid, stdin in due:
            time.sleep(max(0.0, began_s + at_s - time.monotonic()))
            if random_.random() < 0.5:
                os.kill(pid, signal.SIGKILL)  # the service
            os.close(stdin)  # as if the driver had been killed
        for pid, _ in begun:
            os.waitpid(pid, 0)


def start(service: Callable[[list[str]], int], options: list[str], url: str) -> tuple[int, int]:
    """Fork a service; its process and the end of its standard input."""
    theirs, ours = os.pipe()
    if pid := os.fork():
        os.close(theirs)
        return pid, ours
    os.dup2(theirs, 0)
    os.closerange(3, ours + 1)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    if service is pgbouncer.main:
        os.environ[INSTALLED] = url
    try:
        service([*options, "--until-eof"])
    finally:
        os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
