"""Studies as they are asked for and their plans, on a machine with two cores and no interpreter."""

from collections.abc import Mapping
from typing import Any

from scaling.journal.record import Cell, Description, ParameterValue, WorkloadFacts
from scaling.machine.topology import Topology
from scaling.study.definition import OF_COMMAND_LINE, OPTIONS, Options, Study
from scaling.study.file import read_study, study_from
from scaling.study.plan.cells import Plan, make_plan
from scaling.study.plan.refusals import Limits, refusal
from tests.support.descriptions import WORKLOADS, description

ECHO_FILE = "[[workloads]]\nname = 'echo'\n"
TWO_CORES = Topology(logical_cpus=2, physical_cores=2)


FLAGS = {
    each.flag.partition("/")[0].removeprefix("--").replace("-", "_"): each
    for each in (*OF_COMMAND_LINE.values(), *OPTIONS.values())
    if each.flag
}


def flagged(**flags: Any) -> Options:
    """What flags ask, by their Python names: texts as typed, numbers, and switches as they are."""
    given = {}
    for name, value in flags.items():
        each = FLAGS[name]
        texts = list(map(str, value if isinstance(value, list | tuple) else [value]))
        if texts and value is not None:
            flag = each.flag.partition("/")[0]
            is_switch = isinstance(value, bool)
            given[each.key] = value if is_switch else each.kind.of_texts(texts, flag)
    return Options.of(given)


def asked(text: str = ECHO_FILE, **flags: Any) -> Study:
    """The study of a file mine.toml with this text, and of these flags."""
    made = flagged(**{"study": "mine", **flags})
    file = read_study(text, f"{made.study}.toml")
    return study_from(made, running_build="3.14t", file=file)


def planned(
    text: str = ECHO_FILE,
    *,
    workloads: Mapping[str, WorkloadFacts] = {},
    arms: Mapping[str, Description] | None = None,
    topology: Topology = TWO_CORES,
    limits: Mapping[str, Any] = {},
    **flags: Any,
) -> Plan:
    """The plan of the study of such a file, where every arm has the usual `workloads` and these.

    `arms` have descriptions of their own; `limits` are those of `Limits` and `make_plan`.
    Controls are left out unless `flags` or the file ask for them.
    """
    if "controls" not in text:
        flags.setdefault("controls", False)
    study = asked(text, **flags)
    described = description(workloads={**WORKLOADS, **workloads})
    descriptions = arms if arms is not None else dict.fromkeys(study.arms, described)
    of_machine = Limits(**{key: each for key, each in limits.items() if key in Limits._fields})
    others = {key: each for key, each in limits.items() if key not in Limits._fields}
    return make_plan(study, descriptions, topology, of_machine, **others)


def refusals(plan: Plan) -> dict[tuple[str, str, str, str, str], str]:
    """Why what the plan leaves out cannot be run, by workload, loop, arm, model and sizing."""
    return {
        (each.workload, each.loop, arm, each.model, each.sizing): each.reason
        for each in plan.refused
        for arm in each.arms
    }


def why_refused(
    found: Description,
    workload: str,
    parameters: Mapping[str, ParameterValue],
    *,
    model: str = "threads",
    loop: str = "asyncio",
) -> str | None:
    """Why this environment cannot run two workers of a workload; None if it can."""
    cell = Cell(
        workload=workload, parameters=parameters, model=model, loop=loop, arm="3.14t", workers=2
    )
    return refusal(found, cell)
