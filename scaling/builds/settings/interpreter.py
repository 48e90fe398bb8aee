"""Settings of the interpreter itself: how the GIL changes hands, and two controls."""

from scaling.builds.cpython import Build
from scaling.builds.settings.setting import Place, Setting

SWITCH_INTERVAL_S = 0.0005
_WITH_DEFERRED = 14  # PyUnstable_Object_EnableDeferredRefcount and the flag of tlbc came with 3.14


def _with_gil(build: Build) -> str | None:
    return f"{build.name} has no GIL to hand over" if build.free_threaded else None


def _in_threads(place: Place) -> str | None:
    return None if place.model == "threads" else "only threads hand over a GIL"


SHORT_SWITCHES = Setting(
    name="switch500us",
    summary="a thread asks for the GIL after 0.5 ms, not after 5",
    switches={"sys.setswitchinterval": SWITCH_INTERVAL_S},
    misfit=_with_gil,
    unfit=_in_threads,
    source="https://docs.python.org/3/library/sys.html#sys.setswitchinterval",
    lines=("import sys", f"sys.setswitchinterval({SWITCH_INTERVAL_S})"),
)


def free_from_314(build: Build) -> str | None:
    """Why a build cannot have what came with free-threaded 3.14; None if it can."""
    if not build.free_threaded:
        return f"{build.name} has the GIL; the setting is for a free-threaded build"
    if build.minor < _WITH_DEFERRED:
        return f"{build.name} does not have it; it came with 3.{_WITH_DEFERRED}"
    return None


# No module of 3.14 says what became of it: the variable itself is read back.
NO_THREAD_LOCAL_BYTECODE = Setting(
    name="tlbc0",
    summary="control: threads share their bytecode, so that none of it is specialised",
    environment={"PYTHON_TLBC": "0"},
    switches={"PYTHON_TLBC": "0"},
    misfit=free_from_314,
    source="https://docs.python.org/3/using/cmdline.html#envvar-PYTHON_TLBC",
    control=True,
)

DEFERRED_FUNCTIONS = Setting(
    name="deferred",
    summary="control: deferred reference counts asked for on functions that have them already",
    switches={"PyUnstable_Object_EnableDeferredRefcount": True},
    misfit=free_from_314,
    source="https://docs.python.org/3/c-api/object.html#c.PyUnstable_Object_EnableDeferredRefcount",
    control=True,
)
