"""The child: however it goes wrong, its run is labelled, and the other runs are measured."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scaling.base.errors import ScalingError
from tests.faults.attempt import Fault, Try
from tests.faults.drivers import finished, start, study
from tests.faults.records import latest

OWN = Path(__file__).with_name("own")
# What may be written down of each; the processes that a worker starts are ended, and cost nothing.
OUTCOMES = {
    "segfault": {"crashed", "failed"},
    "abort": {"crashed", "failed"},
    "exit": {"garbled", "failed"},
    "endless": {"timed-out"},
    "deadlock": {"timed-out"},
    "memory": {"failed"},
    "rubbish": {"measured"},
    "rubbish-as-record": {"measured", "garbled"},
    "nan": {"failed"},
    "fork": {"measured"},
    "daemon": {"measured"},
}
MODELS = ("threads", "processes")
BUILDS = ("3.14", "3.14t")  # a build may change what comes of it


def child(way: str) -> Fault:
    """The fault `way`, in the window and during set-up, on two builds under two models.

    Beside its runs there are fine ones.
    """

    def tries(folder: Path) -> Iterator[Try]:
        sets = (f"faulty:Faulty.way=fine,{way}", "faulty:Faulty.when=setup,window")
        asked: dict[str, Any] = {"workload": ("faulty:Faulty",), "set": sets, "workers": ("2",)}
        with study(own=[OWN], arm=BUILDS, model=MODELS, **asked) as ready:
            yield finished(start(ready, folder))
            yield from judged_children(folder, len(ready.plan.runs))

    return tries


def judged_children(folder: Path, runs: int) -> Iterator[Try]:
    """A try for each run: one that went wrong says so, the others were measured."""
    try:
        found = latest(folder)
    except ScalingError as error:
        yield Try(problem=str(error), lost=runs)
        return
    yield Try(lost=runs - len(found))
    for line, why in found:
        way, when = line.cell.parameters["way"], line.cell.parameters["when"]
        wanted = OUTCOMES.get(str(way), {"measured"})
        wrong = line.outcome not in wanted or (line.outcome != "measured" and not why)
        said = f"{way} in {when} in {line.cell.model} on {line.cell.arm}: {line.outcome} ({why})"
        yield Try(problem=said if wrong else "")


FAULTS: dict[str, Fault] = {f"child: {way}": child(way) for way in OUTCOMES}
