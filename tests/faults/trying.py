"""Every fault there is, and how one is tried: in a process of its own."""

import shutil
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from tests.faults import child, inputs, journal, kills, machine, services, turns
from tests.faults.attempt import Fault, NotHereError, Row, Try
from tests.faults.left_behind import adopt_orphans, left_behind

FAULTS: dict[str, Fault] = {
    **kills.FAULTS,
    **journal.FAULTS,
    **child.FAULTS,
    **turns.FAULTS,
    **services.FAULTS,
    **machine.FAULTS,
    **inputs.FAULTS,
}


def tried(name: str) -> Row:
    """Try one fault. What it does to this process, such as mounts, stays."""
    began, missing = time.monotonic(), ""
    tries: list[Try] = []
    adopt_orphans()
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    try:
        tries += FAULTS[name](folder)
    except NotHereError as error:
        missing = str(error)
    except Exception:
        tries.append(Try(problem=traceback.format_exc()))
    left_behind()  # of a fault that failed
    shutil.rmtree(folder, ignore_errors=True)
    return Row(name, tries, time.monotonic() - began, missing)


def rows(names: Sequence[str], at_once: int) -> Iterator[Row]:
    """What each fault did, as they end."""
    context = get_context("spawn")
    with ProcessPoolExecutor(at_once, mp_context=context, max_tasks_per_child=1) as pool:
        for done in as_completed([pool.submit(tried, name) for name in names]):
            yield done.result()
