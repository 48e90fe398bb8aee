"""A large journal read by two processes: this one and a helper, each about half of the lines.

Reading is most of what a large journal costs, and each line is read by itself. Threads would not
do: on the build with the GIL they share one core. Nor would `multiprocessing`, which imports a
user's script once more. The helper is `python -m scaling.analysis.table.sharing PATH BEGIN`.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scaling.analysis.table.part import Read, read_part
from scaling.journal.reading import WHOLE, Part

# What is read in the time that a helper takes to start, some 0.6 s: it gets so much less to do.
START_BYTES = 45_000_000
LARGE_BYTES = 2 * START_BYTES  # below, there is little to be gained


def read_all(path: Path) -> list[Read]:
    """The journal in one part or two, in their order. Raises `UsageError` as `read_lines` does."""
    size = path.stat().st_size
    if path.suffix == ".gz" or size < LARGE_BYTES or _cpus() < 2 or not sys.executable:
        return [read_part(path, WHOLE)]
    middle = (size + START_BYTES) // 2
    with _helper(path, middle) as helper:
        first = read_part(path, Part(0, middle))
        answer, _ = helper.communicate()
    if helper.returncode:  # it has nothing to say that we would not find ourselves
        return [first, read_part(path, Part(middle))]
    second: Read = pickle.loads(answer)
    return [first, second]


@contextmanager
def _helper(path: Path, begin: int) -> Iterator[subprocess.Popen[bytes]]:
    """A process that reads the lines from a byte on; it does not outlive its use."""
    command = [
        sys.executable,
        "-m",
        "scaling.analysis.table.sharing",
        str(path.absolute()),
        str(begin),
    ]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _cpus() -> int:
    """The CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if __name__ == "__main__":
    pickle.dump(read_part(Path(sys.argv[1]), Part(int(sys.argv[2]))), sys.stdout.buffer)
