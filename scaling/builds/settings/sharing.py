"""What threads share, and need not: code, the application, contexts, warning filters."""

from scaling.builds.cpython import Build
from scaling.builds.settings.setting import Place, Setting

_GUIDE = "https://docs.python.org/3/howto/free-threading-python.html"
_WITH_FLAGS = 14  # thread_inherit_context and context_aware_warnings came with 3.14
_AS_NEW = (
    "def imported_anew(name):  # called in each thread, one after the other",
    "    spec = importlib.util.find_spec(name)",
    "    module = importlib.util.module_from_spec(spec)",
    "    spec.loader.exec_module(module)",
    "    return module",
)


def _only_threads(place: Place) -> str | None:
    return None if place.model == "threads" else "only workers in threads share code"


def _shares_code(place: Place) -> str | None:
    if place.workload == "app" and not place.parameters.get("factory"):
        return "own-app does that to an application that is an object"
    if place.workload == "shared":
        return "the workload is about what is shared"
    if place.parameters.get("tls") == "shared":
        return "it would give each worker its own SSLContexts, too: own-ssl does that alone"
    return _only_threads(place)


OWN_CODE = Setting(
    name="own-code",
    summary="classes and functions of the workload for each thread: its modules imported anew",
    cell={"own_code": True},
    reads_back={"own_code": True},
    unfit=_shares_code,
    source=_GUIDE,
    lines=_AS_NEW,
    instead_of="shared code",
)


def _shares_application(place: Place) -> str | None:
    if place.parameters.get("server", "loops") != "loops":
        return "it is for our own server (server=loops)"
    if place.parameters.get("factory"):
        return "the factory makes an application for each worker already"
    return _only_threads(place)


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
    instead_of="shared code",
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
