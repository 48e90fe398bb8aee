"""An arm that is not Python, prepared: it runs what its program implements."""

from msgspec.structs import replace

from scaling.builds.arms import Arm
from scaling.builds.cache import Say
from scaling.builds.prepared_arm import PreparedArm
from scaling.builds.runtimes.find import AbsentRuntimeError, environment, find
from scaling.builds.runtimes.known import OWN_LOOP, Runtime
from scaling.journal.record import Description, Offer, PythonFacts, Refusal

WORKLOAD = "spawn"
MODEL = "threads"


def prepare_runtime(arm: Arm, like: Description, say: Say) -> PreparedArm:
    """Prepare the arm of a runtime; if it is missing, every cell of it is refused with the reason.

    `like` describes a Python's environment: workloads and their parameters are the same.
    """
    assert isinstance(arm.build, Runtime)
    found = reason = None
    try:
        found = find(arm.build, say)
    except AbsentRuntimeError as error:
        reason = str(error)
        say(f"{arm.name} is left out: {reason}")
    version = found.version if found else None
    return PreparedArm(
        arm=arm,
        program=found.command[0] if found else "",
        arguments=found.command[1:] if found else (),
        environment=environment(),
        description=_description(arm.name, like, version, reason),
        origin=f"PATH, program {found.source}" if found else "absent",
        left_out={},
        runtime=version,
    )


def _description(
    name: str, like: Description, version: str | None, reason: str | None
) -> Description:
    elsewhere = f"{name} is not Python: it schedules tasks with its own loop, {OWN_LOOP!r}"
    beside = f"{name} runs its N workers in one process"
    unwritten = f"only {WORKLOAD} is implemented for other runtimes"
    workloads = {each: replace(facts, refused=unwritten) for each, facts in like.workloads.items()}
    if WORKLOAD in like.workloads:
        workloads[WORKLOAD] = replace(
            like.workloads[WORKLOAD], refused=None, refusals=_refusals(name)
        )
    return Description(
        schema=like.schema,
        python=PythonFacts(version=version or "", free_threaded=True),
        loops={each: Offer(refused=elsewhere) for each in like.loops}
        | {OWN_LOOP: Offer(version=version, refused=reason)},
        models={each: Offer(refused=None if each == MODEL else beside) for each in like.models},
        workloads=workloads,
    )


def _refusals(name: str) -> list[Refusal]:
    if name != "go":
        return []
    reason = "a goroutine starts when the scheduler runs it, never at once"
    return [Refusal(model=MODEL, loop=OWN_LOOP, reason=reason, parameters={"factory": "eager"})]
