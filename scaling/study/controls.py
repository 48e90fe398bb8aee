"""The control workloads: every study runs them to check that its figures can be trusted.

`compute` shares nothing and must scale where there is no GIL; `shared` has an attribute that all
workers write and must not. What they show is judged in `scaling.analysis.tables.controls`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from scaling.base.errors import UsageError
from scaling.base.models import THREADS
from scaling.builds.arms import parse_arm
from scaling.builds.runtimes import RUNTIMES
from scaling.journal.record import Cell, Description, ParameterValue
from scaling.study.definition import Study, WorkloadEntry
from scaling.study.settle import settled

# Each control with the parameters that make it one; the others are as the workload has them.
CONTROLS: Mapping[str, Mapping[str, ParameterValue]] = {
    "compute": {},
    "shared": {"sharing": "attribute-write"},
}
LOOP = "asyncio"  # the loop has no part in either control: one is enough
SIZING = "weak"
COUNTS = (1, 2)  # two workers are enough; a study may ask for more
ENTRY = WorkloadEntry(name="", loops=(LOOP,), models=(THREADS,), workers=COUNTS, sizing=(SIZING,))
FEWEST_CORES = 2  # nothing can scale on less
CONTROL_WINDOW_S = 2.0  # enough for what they decide, however long the study's own are


def is_control(workload: str, parameters: Mapping[str, object]) -> bool:
    """Return True if a workload with these parameters is one of the controls."""
    wanted = CONTROLS.get(workload)
    return wanted is not None and all(parameters.get(key) == wanted[key] for key in wanted)


def least_window_s(study_s: float, cell: Cell) -> float:
    """The shortest window that this cell needs in a study with windows of `study_s`."""
    control = is_control(cell.workload, cell.parameters)
    return min(study_s, CONTROL_WINDOW_S) if control else study_s


def has_control(arm: str, name: str) -> bool:
    """Return True if the control of that name can be run on an arm.

    Other runtimes have no controls, and some settings are for certain workloads only. Arms that
    this version does not know are taken to run the control.
    """
    if arm in RUNTIMES:
        return False
    parameters, workers = CONTROLS[name], max(COUNTS)
    cell = Cell(
        workload=name, parameters=parameters, model=THREADS, loop=LOOP, arm=arm, workers=workers
    )
    try:
        return parse_arm(arm).unfit(cell) is None
    except UsageError:
        return True


def arms_with_controls(arms: Iterable[str], ran: Collection[tuple[str, str]]) -> list[str]:
    """The arms that have every control in `ran`, which has pairs of control and arm."""
    return [arm for arm in arms if all((name, arm) in ran for name in CONTROLS)]


def with_controls(
    study: Study, descriptions: Mapping[str, Description], usable_cores: float
) -> Study:
    """The settled study with the controls that it lacks, each as an entry of its own.

    Nothing is added with `controls = false`, or on one core, where nothing can scale.
    """
    if not study.controls or usable_cores < FEWEST_CORES:
        return study
    lacking = [
        entry
        for entry in _entries(study, descriptions)
        if not any(_holds(each, entry.name, entry.arms) for each in study.workloads)
    ]
    return replace(study, workloads=(*study.workloads, *lacking))


def without_controls(study: Study, descriptions: Mapping[str, Description]) -> Study:
    """The settled study without the controls that `with_controls` adds at its end.

    The study of a journal has them. A study of controls alone keeps its first entry.
    """
    added, workloads = list(_entries(study, descriptions)), study.workloads
    while study.controls and len(workloads) > 1 and workloads[-1] in added:
        workloads = workloads[:-1]
    return replace(study, workloads=workloads)


def _entries(study: Study, descriptions: Mapping[str, Description]) -> Iterator[WorkloadEntry]:
    """All controls that can be run on arms of the study, in their full size."""
    offered = {name for each in descriptions.values() for name in each.workloads}
    for name in CONTROLS:
        arms = tuple(arm for arm in study.arms if has_control(arm, name))
        if arms and name in offered:
            asked = replace(ENTRY, name=name, parameters=CONTROLS[name], arms=arms)
            yield settled(asked, replace(study, scale=1.0), descriptions)


def _holds(entry: WorkloadEntry, name: str, arms: Collection[str]) -> bool:
    """Return True if a settled entry already runs the control `name` on all arms, on any loop."""
    swept = all(
        value in entry.parameters.get(parameter, ()) for parameter, value in CONTROLS[name].items()
    )
    return (
        entry.name == name
        and swept
        and set(arms) <= set(entry.arms)
        and THREADS in entry.models
        and SIZING in entry.sizing
        and set(COUNTS) <= set(entry.counts)
    )
