"""Settings of the loop: how sockets are read, how tasks begin."""

from scaling.builds.settings.setting import Setting, has_loops
from scaling.journal.record import Cell

SMALLER_BYTES = 65_536
_OF_ASYNCIO = ("asyncio", "anyio/asyncio")
_MAX_SIZE = "asyncio.selector_events._SelectorSocketTransport.max_size"
# Of the built-in workloads those that read no socket; a user's own may.
_WITHOUT_SOCKETS = (
    *("compute", "shared", "sleep", "spawn", "cancel", "gather", "handoff", "lifecycle"),
    *("cache", "primitives", "state", "state-pass"),
)
_ISSUE = "https://github.com/python/cpython/issues/85451"
_NO_LOOP = "there is no loop: the server calls WSGI in its threads"


def _needs_asyncio(cell: Cell) -> str | None:
    if cell.workload in _WITHOUT_SOCKETS and cell.parameters.get("cache") != "valkey":
        return "the workload reads no socket"
    if not has_loops(cell):
        return _NO_LOOP
    if cell.loop not in _OF_ASYNCIO:
        return f"it is an attribute of asyncio's transport, which {cell.loop} does not use"
    if cell.parameters.get("api") == "buffered":
        return "the protocol brings its own buffer (api=buffered)"
    return None


SMALLER_READS = Setting(
    name="recv64k",
    summary="asyncio asks a socket for at most 64 KiB at once, not 256",
    switches={_MAX_SIZE: SMALLER_BYTES},
    unfit=_needs_asyncio,
    source=_ISSUE,
    lines=(
        "import asyncio.selector_events",
        f"{_MAX_SIZE} = {SMALLER_BYTES:_}",
    ),
)


def _has_protocols(cell: Cell) -> str | None:
    api = cell.parameters.get("api")
    return None if api == "protocol" else f"it is for api=protocol, not {api}"


OWN_BUFFER = Setting(
    name="buffered",
    summary="protocols with a receive buffer of their own (asyncio.BufferedProtocol)",
    parameters={"api": "buffered"},
    reads_back={"facts": {"protocol": "BufferedProtocol"}},
    unfit=_has_protocols,
    workloads=("echo",),
    source="https://docs.python.org/3/library/asyncio-protocol.html#buffered-streaming-protocols",
    lines=(
        "class Yours(asyncio.BufferedProtocol):  # in place of asyncio.Protocol",
        "    def get_buffer(self, sizehint): return self._buffer  # a bytearray, made once",
        "    def buffer_updated(self, nbytes): ...  # in place of data_received",
    ),
)


def _is_other_loop(cell: Cell) -> str | None:
    if not has_loops(cell):
        return _NO_LOOP
    return None if cell.loop == "asyncio" else f"it takes the place of asyncio, not of {cell.loop}"


UVLOOP = Setting(
    name="uvloop",
    summary="uvloop in place of asyncio's loop",
    cell={"loop": "uvloop"},
    reads_back={"loop_class": "uvloop.Loop"},
    unfit=_is_other_loop,
    source="https://uvloop.readthedocs.io/",
    lines=(
        "import uvloop",
        "asyncio.Runner(loop_factory=uvloop.new_event_loop)  # in each thread",
    ),
)


def _shares_contexts(cell: Cell) -> str | None:
    if cell.parameters.get("tls") == "shared":
        return None
    return "no SSLContext is shared here (tls=shared has one for all workers)"


OWN_CONTEXTS = Setting(
    name="own-ssl",
    summary="an SSLContext for each worker",
    parameters={"tls": "per-worker"},
    reads_back={"facts": {"ssl_contexts": "per worker"}},
    unfit=_shares_contexts,
    workloads=("echo",),
    source="https://docs.python.org/3/howto/free-threading-python.html",
    lines=("context = ssl.create_default_context()  # in each thread, for its own loop",),
)


# -------------------------------------------------------------------------------------------- tasks
# The start of tasks.


def _has_factory(cell: Cell) -> str | None:
    if "trio" in cell.loop or cell.loop.startswith("anyio"):
        return f"{cell.loop} makes its tasks itself"
    if cell.workload == "lifecycle":
        return "the workload makes its own loops"
    if not has_loops(cell):
        return _NO_LOOP
    if cell.parameters.get("factory") == "eager":
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
