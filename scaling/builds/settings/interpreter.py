"""Settings of the interpreter: rungs of the ladder, switches of the GIL, collector, allocator, and
switches that a source describes and CPython does not have.
"""

import platform

from scaling.base.models import model_of
from scaling.builds import installed
from scaling.builds.cpython import Build
from scaling.builds.settings.setting import Setting, has_loops
from scaling.journal.record import Cell

# ------------------------------------------------------------------------------------------- ladder
# The rungs of the ladder between `3.14` and `3.14t`: allocator, build, GIL.

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
)

LADDER = {GIL.name, MIMALLOC.name}


# -------------------------------------------------------------------------------------- interpreter

SWITCH_INTERVAL_S = 0.0005
_WITH_DEFERRED = 14  # PyUnstable_Object_EnableDeferredRefcount and the flag of tlbc came with 3.14


def _with_gil(build: Build) -> str | None:
    return f"{build.name} has no GIL to hand over" if build.free_threaded else None


def _in_threads(cell: Cell) -> str | None:
    return None if model_of(cell.model).shares else "only threads hand over a GIL"


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
    """Reason a build cannot have a setting of free-threaded 3.14, or None."""
    if not build.free_threaded:
        return f"{build.name} has the GIL; the setting is for a free-threaded build"
    if build.minor < _WITH_DEFERRED:
        return f"{build.name} does not have it; it came with 3.{_WITH_DEFERRED}"
    return None


# No module of 3.14 shows its effect, so the variable itself is read back.
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


# ---------------------------------------------------------------------------------------- collector
# The cyclic garbage collector: off, less often, or with less to look at.

# A value often recommended for web servers instead of switching the collector off.
RARE_COLLECTIONS = 50_000

NO_COLLECTOR = Setting(
    name="nogc",
    summary="the cyclic garbage collector switched off",
    cell={"gc": False},
    reads_back={"gc_enabled": False},
    source="https://docs.python.org/3/library/gc.html#gc.disable",
    lines=("import gc", "gc.disable()  # cycles are never freed: restart workers before it hurts"),
)

RARE_COLLECTOR = Setting(
    name="gc50k",
    summary="the collector starts after 50,000 new objects (2,000 by default in 3.14)",
    cell={"gc_threshold": RARE_COLLECTIONS},
    reads_back={"gc_threshold": RARE_COLLECTIONS},
    source="https://engineered.at/articles/20-faster-python-with-a-single-gc-tweak",
    lines=("import gc", f"gc.set_threshold({RARE_COLLECTIONS:_})"),
)


def _is_ours(cell: Cell) -> str | None:
    return None if has_loops(cell) else "a server of WSGI does not say when its workers are warm"


FREEZE = Setting(
    name="gcfreeze",
    summary="gc.freeze just before the window: the collector never looks at what exists by then",
    switches={"gc.freeze": True},
    unfit=_is_ours,
    source="https://docs.python.org/3/library/gc.html#gc.freeze",
    lines=("import gc", "gc.freeze()  # once the application has started and is warm"),
)


# --------------------------------------------------------------------------------------- allocators
# Others than glibc's, and when glibc's or mimalloc gives memory back.


def _preloaded(name: str, library: str, package: str, source: str) -> Setting:
    """An allocator that is loaded instead of glibc's, from the Debian package that has it.

    Python's own allocator stays in place for objects of up to 512 bytes.
    """

    def misfit(build: Build) -> str | None:
        if build.free_threaded:
            return (
                f"{build.name} takes all its objects from mimalloc, whatever library is loaded; "
                f"the setting is for a build with the GIL"
            )
        if installed.library(library) is None:
            return f"{library} is not on this machine: apt-get install {package}"
        return None

    return Setting(
        name=name,
        summary=f"{name} in place of glibc's malloc, for blocks of more than 512 bytes",
        preload=library,
        switches={"LD_PRELOAD": library},
        misfit=misfit,
        source=source,
    )


JEMALLOC = _preloaded(
    "jemalloc",
    "libjemalloc.so.2",
    "libjemalloc2",
    "https://www.finbox.in/blog/beyond-python-heap-fixing-memory-retention-with-jemalloc",
)

TCMALLOC = _preloaded(
    "tcmalloc",
    "libtcmalloc_minimal.so.4",
    "libtcmalloc-minimal4",
    "https://gperftools.github.io/gperftools/tcmalloc.html",
)


def _purge_misfit(build: Build) -> str | None:
    if build.free_threaded:
        return None
    return f"{build.name} uses mimalloc only with +mimalloc; the setting is for free-threaded ones"


_DELAY = "MIMALLOC_PURGE_DELAY"

# CPython's copy of mimalloc reads its variables (Objects/mimalloc/options.c, mi_option_init), and
# exports nothing that would say what it read.
KEEP_PAGES = Setting(
    name="nopurge",
    summary="mimalloc never gives freed pages back to the system (after 10 ms by default)",
    environment={_DELAY: "-1"},
    switches={_DELAY: "-1"},
    misfit=_purge_misfit,
    source="https://microsoft.github.io/mimalloc/environment.html",
)


def _needs_glibc(_build: Build) -> str | None:
    if platform.libc_ver()[0] == "glibc":
        return None
    return "the C library of this machine is not glibc, whose variables these are"


_OF_GLIBC = {"MALLOC_MMAP_THRESHOLD_": f"{32 << 20}", "MALLOC_TRIM_THRESHOLD_": f"{64 << 20}"}

# When a program frees a mapped block, glibc raises the first to its size and the second to twice
# its size, at most to these values (man 3 mallopt). Only blocks that glibc allocated count: where
# mimalloc has Python's objects, large ones do not.
KEEP_BLOCKS = Setting(
    name="nomap",
    summary="glibc's malloc takes blocks of up to 32 MiB from its heap and keeps 64 MiB of it",
    environment=_OF_GLIBC,
    switches=_OF_GLIBC,
    misfit=_needs_glibc,
    source="https://man7.org/linux/man-pages/man3/mallopt.3.html",
)


# ------------------------------------------------------------------------------------------ claimed
# Switches that a source describes and CPython does not have.

NOT_IN_CPYTHON = "a switch that one of the claims is about; nothing in CPython reads it"
_IO_URING = "PYTHONASYNCIOUSEIOURING"

IO_URING = Setting(
    name="io-uring",
    summary=NOT_IN_CPYTHON,
    environment={_IO_URING: "1"},
    switches={_IO_URING: "1"},
)

NEW_SCHEDULER = Setting(
    name="new-scheduler",
    summary=NOT_IN_CPYTHON,
    switches={"asyncio.events._USE_NEW_SCHEDULER": True},
)
