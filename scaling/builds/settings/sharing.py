"""Settings of what threads share: code, the application, data, contexts, warning filters."""

from scaling.base.models import model_of
from scaling.builds.cpython import Build
from scaling.builds.settings.interpreter import free_from_314
from scaling.builds.settings.setting import GTHREAD, Setting, has_loops
from scaling.journal.record import Cell

_GUIDE = "https://docs.python.org/3/howto/free-threading-python.html"
_WITH_FLAGS = 14  # thread_inherit_context and context_aware_warnings came with 3.14
_WITH_IMMORTAL = 15
_STATE = ("state", "state-pass", "serve-state")
_OURS = "it is for our own server (server=loops)"
_AS_NEW = (
    "def imported_anew(name):  # called in each thread, one after the other",
    "    spec = importlib.util.find_spec(name)",
    "    module = importlib.util.module_from_spec(spec)",
    "    spec.loader.exec_module(module)",
    "    return module",
)


def _only_threads(cell: Cell) -> str | None:
    return None if model_of(cell.model).shares else "only workers in threads share code"


def _shares_code(cell: Cell) -> str | None:
    if not has_loops(cell):
        return _OURS
    if cell.workload == "app" and not cell.parameters.get("factory"):
        return "own-app does that to an application that is an object"
    if cell.workload in ("shared", "cache", "serve-cache", *_STATE):
        return "the workload is about what is shared"
    if cell.parameters.get("tls") == "shared":
        return "it would give each worker its own SSLContexts, too: own-ssl does that alone"
    return _only_threads(cell)


OWN_CODE = Setting(
    name="own-code",
    summary="classes and functions of the workload for each thread: its modules imported anew",
    cell={"own_code": True},
    reads_back={"own_code": True},
    unfit=_shares_code,
    source=_GUIDE,
    lines=_AS_NEW,
)


def _shares_application(cell: Cell) -> str | None:
    if cell.parameters.get("server", "loops") != "loops":
        return _OURS
    if cell.parameters.get("factory"):
        return "the factory makes an application for each worker already"
    return _only_threads(cell)


OWN_APPLICATION = Setting(
    name="own-app",
    summary="an application for each thread: its package imported anew",
    cell={"own_code": True},
    reads_back={"facts": {"application": "one instance per worker"}},
    unfit=_shares_application,
    workloads=("app",),
    source=_GUIDE,
    lines=(
        "def create_app(): ...  # make the application in a function, and call it in each thread",
        "# (scaling app --factory module:create_app)",
    ),
)


def _flag(name: str, flag: str, variable: str, summary: str) -> Setting:
    """A flag of the interpreter that the free-threaded build has on and the other off."""

    def misfit(build: Build) -> str | None:
        if build.minor < _WITH_FLAGS:
            return f"{build.name} has no such flag; it came with 3.{_WITH_FLAGS}"
        if not build.free_threaded:
            return f"{build.name} has the flag off already"
        return None

    return Setting(
        name=name,
        summary=summary,
        environment={variable: "0"},
        switches={f"sys.flags.{flag}": 0},
        misfit=misfit,
        source=f"https://docs.python.org/3/using/cmdline.html#envvar-{variable}",
    )


NO_INHERITED_CONTEXT = _flag(
    "inherit0",
    "thread_inherit_context",
    "PYTHON_THREAD_INHERIT_CONTEXT",
    "threads start with an empty context, not with a copy of their parent's",
)

NO_AWARE_WARNINGS = _flag(
    "warnings0",
    "context_aware_warnings",
    "PYTHON_CONTEXT_AWARE_WARNINGS",
    "warning filters belong to the process, not to the context",
)


# ------------------------------------------------------------------------------ data


def _has_objects(cell: Cell) -> str | None:
    if cell.parameters.get("kind") in ("array", "frame"):
        return "the state is in columns already, and has no object for each row"
    return None


COLUMNS = Setting(
    name="columns",
    summary="data in columns (array.array) in place of an object for each row",
    parameters={"kind": "array"},
    reads_back={"facts": {"kind": "array"}},
    unfit=_has_objects,
    workloads=_STATE,
    source="https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading",
    lines=(
        "from array import array",
        "ids = array('q', (row.id for row in rows))  # a column for each field, in place of rows",
    ),
)


def _shares_state(cell: Cell) -> str | None:
    if cell.parameters.get("made_by") == "loop":
        return "each loop has a copy of its own already (made_by=loop)"
    if cell.model in ("processes", "interpreters"):
        return "each worker of this model has a copy of its own already"
    return None


OWN_DATA = Setting(
    name="own-data",
    summary="a copy of the data for each loop, which the loop's own thread has made",
    parameters={"made_by": "loop"},
    reads_back={"facts": {"made_by": "loop"}},
    unfit=_shares_state,
    workloads=_STATE,
    source=_GUIDE,
    lines=("rows = load_rows()  # in each thread: what it makes itself costs it least to read",),
)


def _is_tracked(cell: Cell) -> str | None:
    if cell.parameters.get("kind", "dicts") in ("dicts", "dataclasses", "slots"):
        return _only_threads(cell)
    return "the collector does not track objects of this kind, so their counts cannot be deferred"


# Objects read from a list or a dict by key are counted all the same (`_PyList_GetItemRef` and
# `_Py_TryIncrefCompare` in 3.14): only names, attributes and iteration leave the count out.
DEFERRED_DATA = Setting(
    name="deferred-data",
    summary="control: deferred reference counts for objects that are read by key",
    parameters={"deferred": True},
    reads_back={"facts": {"reference_counts": "deferred"}},
    misfit=free_from_314,
    unfit=_is_tracked,
    workloads=_STATE,
    source="https://docs.python.org/3/c-api/object.html#c.PyUnstable_Object_EnableDeferredRefcount",
    control=True,
)


def _no_interface(build: Build) -> str | None:
    if build.minor < _WITH_IMMORTAL:
        return (
            f"{build.name} has no public interface to make objects immortal; "
            f"PyUnstable_SetImmortal came with 3.{_WITH_IMMORTAL}"
        )
    return "PyUnstable_SetImmortal is for C code that makes an object: nothing else may refer to it"


IMMORTAL_DATA = Setting(
    name="immortal-data",
    summary="objects without a reference count: they are never freed",
    reads_back={"facts": {"reference_counts": "immortal"}},
    misfit=_no_interface,
    workloads=_STATE,
    source="https://docs.python.org/3.15/c-api/object.html#c.PyUnstable_SetImmortal",
    lines=("# in C, where the object is made: PyUnstable_SetImmortal(object);",),
)


# ------------------------------------------------------------------------------------------ serving
# Where requests are answered: heavy ones beside the loop, or all in threads without one.


def _has_loops(cell: Cell) -> str | None:
    return None if has_loops(cell) else "there is no loop to keep free"


TO_THREAD = Setting(
    name="to-thread",
    summary="heavy requests in the loop's pool of threads (asyncio.to_thread)",
    parameters={"heavy_in": "thread"},
    reads_back={"facts": {"heavy_in": "thread"}},
    unfit=_has_loops,
    workloads=("mix",),
    source="https://docs.python.org/3/library/asyncio-dev.html#running-blocking-code",
    lines=("await asyncio.to_thread(heavy, request)  # in place of heavy(request)",),
)

# No remedy: it takes the loops away.
THREADS_WITHOUT_LOOPS = Setting(
    name="gthread",
    summary="threads without loops, one for each connection (gunicorn's gthread)",
    parameters={"server": GTHREAD},
    reads_back={"facts": {"server": GTHREAD}},
    workloads=("mix",),
)
