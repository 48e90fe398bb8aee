"""The child: however it goes wrong, its run is labelled, the others are measured, and it ends."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from scaling.base.errors import ScalingError
from tests.faults.checks import Fault, Try, complete, judged, latest, wrong
from tests.faults.drivers import finished, start, study
from tests.faults.kills import TURNS

OWN = Path(__file__).with_name("own")
# What may be written down of each; the processes that a worker starts are ended, and cost nothing.
OUTCOMES = {
    "fine": {"measured"},
    "segfault": {"crashed", "failed"},
    "exit": {"garbled", "failed"},
    "endless": {"timed-out"},
    "deadlock": {"timed-out"},
    "memory": {"failed"},
    "rubbish-as-record": {"measured", "garbled"},
    "fork": {"measured"},
    "daemon": {"measured"},
}
MODELS = ("threads", "processes")
BUILDS = ("3.14", "3.14t")  # a build may change what comes of it
ALONE: dict[str, Any] = {"arm": BUILDS, "model": MODELS, "workers": ("2",)}


def child(folder: Path, way: str, workload: str, asked: dict[str, Any]) -> Iterator[Try]:
    """The fault `way`, in the window and during set-up. Beside its runs there are fine ones."""
    sets = (f"{workload}.way=fine,{way}", f"{workload}.when=setup,window")
    options = asked | {"workload": (workload,), "set": sets, "blocks": 1}
    with study(own=[OWN], **options) as ready:
        yield finished(start(ready, folder))
        try:
            found, groups = latest(folder), {line.group for line, _ in judged(folder)}
        except ScalingError as error:
            yield wrong(str(error))
            return
        yield complete(folder, len(ready.plan.runs))
        yield wrong("no runs took turns" if asked is TURNS and groups <= {None} else "")
    for line, why in found:
        done, when = str(line.cell.parameters["way"]), line.cell.parameters["when"]
        is_right = line.outcome in OUTCOMES[done] and (line.outcome == "measured" or why)
        where = f"{done} in {when} in {line.cell.model} on {line.cell.arm}"
        yield wrong("" if is_right else f"{where}: {line.outcome} ({why})")


FAULTS: dict[str, Fault] = {
    f"child{where}: {way}": partial(child, way=way, workload=workload, asked=asked)
    for where, workload, asked in (
        ("", "faulty:Faulty", ALONE),
        (" in a group", "faulty:FaultyInTurn", TURNS),
    )
    for way in OUTCOMES
    if way != "fine"
}
