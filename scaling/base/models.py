"""The models: an entry for each kind of worker, and functions of its facts.

To add a model, add it here, to `workers/host/models.py`, which starts its workers, and to the line
styles of `scaling/report/render/style.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from scaling.base.errors import UsageError, unknown

CACHE, NODE = "cache", "node"  # what the K of a mixed model may be named after


@dataclass(frozen=True, slots=True)
class Model:
    """A kind of worker. `worker` and `workers` are the names of one and of several.

    `shares`: several workers are threads of one interpreter. `starts`: the host starts processes
    for them; these are forked after imports where it `forks`.
    """

    worker: str
    workers: str
    shares: bool = False
    starts: bool = False
    forks: bool = False


KNOWN: Mapping[str, Model] = {
    "threads": Model("thread", "threads", shares=True),
    "processes": Model("process", "processes", starts=True),
    "forked": Model("forked process", "forked processes", starts=True, forks=True),
    "interpreters": Model("interpreter", "interpreters"),
    "mixed": Model("thread", "threads", shares=True, starts=True),
    "mixed-forked": Model("thread", "threads", shares=True, starts=True, forks=True),
}
MODELS = tuple(KNOWN)
THREADS = "threads"
PROCESSES = ("processes", "forked")  # a process for each worker: what threads are compared with
MIXED = ("mixed", "mixed-forked")  # workers / K processes with K threads each

# The pattern of a model in an option, valid in JSON Schema and Python.
PATTERN = (
    rf"^({'|'.join(name for name in MODELS if name not in MIXED)}"
    rf"|({'|'.join(MIXED)})(:([2-9]|[1-9][0-9]+|{CACHE}|{NODE}))?)$"
)


def kind_of(model: str) -> str:
    """The model without the K of a mixed one."""
    return model.partition(":")[0]


def model_of(model: str) -> Model:
    """The facts of a model; of an unknown model only its name."""
    kind = kind_of(model)
    return KNOWN.get(kind, Model(kind, kind))


def is_mixed(model: str) -> bool:
    """Return whether a model has several threads in each of several processes."""
    return kind_of(model) in MIXED


def workers_each(model: str, workers: int) -> int:
    """The number of workers in one process: all, K of a mixed model, or one."""
    if not model_of(model).starts:
        return workers
    return int(model.partition(":")[2] or 1)


def processes_of(model: str, workers: int) -> int:
    """The number of processes that the host starts for its workers."""
    return workers // workers_each(model, workers) if model_of(model).starts else 0


def workers_in_words(model: str, workers: int) -> str:
    """`2 threads`, `1 process`; of a mixed model `4 threads in 2 forked processes`."""
    known = model_of(model)
    said = f"{workers} {known.worker if workers == 1 else known.workers}"
    if not is_mixed(model):
        return said
    kind = "forked processes" if known.forks else "processes"
    return f"{said} in {processes_of(model, workers)} {kind}"


def parts_of(model: str) -> tuple[str, ...]:
    """The parts of a model: threads and a kind of processes of a mixed one, else itself.

    A fault in any part is a fault of the model.
    """
    if not is_mixed(model):
        return (model,)
    return THREADS, PROCESSES[model_of(model).forks]


def checked_model(text: str, where: str) -> str:
    """The model that an option names: `threads`, `mixed:4`, `mixed-forked:node`.

    Raises:
        UsageError: there is no such model, or another name is right.
    """
    kind, colon, each = text.partition(":")
    if kind not in KNOWN:
        raise unknown("model", text, MODELS, where=where)
    if colon and kind not in MIXED:
        raise UsageError(f"{where}: {kind} has no number of threads per process: leave out :{each}")
    if each == "1":
        same = PROCESSES[KNOWN[kind].forks]
        raise UsageError(f"{where}: {text} has one thread in each process: ask for {same}")
    if colon and each not in (CACHE, NODE) and not (each.isdecimal() and int(each) > 1):
        raise UsageError(
            f"{where}: expected {kind}:K with K threads per process, 2 or more, {kind}:{CACHE} or "
            f"{kind}:{NODE}, got {text!r}"
        )
    return f"{kind}:{int(each)}" if each.isdecimal() else text
