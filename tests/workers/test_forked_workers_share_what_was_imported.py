"""Forked workers find imported what was imported before the fork, and share nothing else.

What memory they share is tested with `test_state_is_shared_by_threads_alone.py`.
"""

import pytest

from tests.support.children import Own

pytestmark = [pytest.mark.slow, pytest.mark.one_build]

# Its module notes who imports it; each worker notes who it is and what it has, in a line each.
TELLING = """
    SEEN = []
    LOG = open(os.environ["LOG"], "a", buffering=1)
    print(f"imported {os.getpid()}", file=LOG)

    @dataclass
    class Theirs(Workload):
        async def setup(self, worker: Worker) -> None:
            SEEN.append(worker.index)
            files = [f"/proc/self/fd/{each}" for each in os.listdir("/proc/self/fd")]
            kinds = [os.readlink(each) for each in files if os.path.lexists(each)]
            sockets = sum(kind.startswith("socket:") for kind in kinds)
            pipes = sum(kind.startswith("pipe:") for kind in kinds)
            print("worker", os.getpid(), os.getppid(), len(SEEN), sockets, pipes, file=LOG)

        async def run(self, worker: Worker) -> None:
            await worker.stopped()
    """


def told(own: Own, model: str, workers: int) -> list[list[str]]:
    """What a run of so many workers wrote, a list of words a line."""
    log = own.folder / "log"
    own.variables["LOG"] = str(log)
    own.measured(TELLING, model=model, workers=workers)
    return [line.split() for line in log.read_text().splitlines()]


def test_modules_are_imported_once_and_each_worker_has_its_own_objects_and_files(own: Own) -> None:
    """A list of the module holds the own entry alone, and no sockets of others are open: as
    many files as in a fresh process. What the module opened is open: all wrote to it.
    """
    (_, host), *workers = told(own, "forked", 3)
    assert len({pid for _, pid, *_ in workers} | {host}) == 4
    assert {parent for _, _, parent, *_ in workers} == {host}
    assert {seen for _, _, _, seen, *_ in workers} == {"1"}
    fresh = [each for each in told(own, "processes", 2) if each[0] == "worker"]
    assert len({tuple(each[-2:]) for each in (*workers, *fresh)}) == 1
