"""The rungs of the ladder between `3.14` and `3.14t`: allocator, build, GIL."""

from scaling.builds.cpython import Build
from scaling.builds.settings.setting import Setting

# CPython's mimalloc came with free-threading (PEP 703).
OLDEST_MIMALLOC_MINOR = 13


def _gil_misfit(build: Build) -> str | None:
    if build.free_threaded:
        return None
    return f"{build.name} always has its GIL; the setting is for a free-threaded build"


def _mimalloc_misfit(build: Build) -> str | None:
    if build.free_threaded:
        return f"{build.name} always uses mimalloc; the setting is for a build with the GIL"
    if build.minor < OLDEST_MIMALLOC_MINOR:
        return f"{build.name} has no mimalloc in it; it came with 3.{OLDEST_MIMALLOC_MINOR}"
    return None


GIL = Setting(
    name="gil",
    summary="the free-threaded build with its GIL switched on",
    environment={"PYTHON_GIL": "1"},
    reads_back={"gil_enabled": True},
    misfit=_gil_misfit,
)

MIMALLOC = Setting(
    name="mimalloc",
    summary="the GIL build with the free-threaded build's allocator",
    environment={"PYTHONMALLOC": "mimalloc"},
    reads_back={"allocator": "mimalloc"},
    misfit=_mimalloc_misfit,
    source="https://docs.python.org/3/c-api/memory.html#the-mimalloc-allocator",
    instead_of="allocator",
)

LADDER = {GIL.name, MIMALLOC.name}
