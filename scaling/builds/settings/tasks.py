"""How tasks begin."""

from scaling.builds.settings.setting import Place, Setting


def _has_factory(place: Place) -> str | None:
    if "trio" in place.loop or place.loop.startswith("anyio"):
        return f"{place.loop} makes its tasks itself"
    if place.workload == "lifecycle":
        return "the workload makes its own loops"
    if place.parameters.get("factory") == "eager":
        return "tasks are eager already (factory=eager)"
    return None


EAGER = Setting(
    name="eager",
    summary="tasks start inside create_task, not in the loop's next iteration",
    cell={"eager_tasks": True},
    reads_back={"eager_tasks": True},
    unfit=_has_factory,
    source="https://docs.python.org/3/library/asyncio-task.html#eager-task-factory",
    lines=(
        "# on each loop, before its first task",
        "asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)",
    ),
)
