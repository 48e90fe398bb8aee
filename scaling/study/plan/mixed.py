"""The number of threads in each process of a mixed model, if the machine decides it.

`mixed` and `mixed:cache` have as many threads as fit on the cores that share a third-level cache,
where cores exchange data fastest; `mixed:node` as many as fit on the cores of a NUMA node. The
number is the largest divisor of N within that limit that leaves at least two processes. A divisor
of the number of cores is preferred: then no process of pinned workers is on two caches.
"""

from scaling.base.models import CACHE, NODE, is_mixed
from scaling.machine.topology import Topology


def placed(model: str, workers: int, topology: Topology) -> tuple[str, str | None]:
    """The model with its number of threads (`mixed:8`), and a reason it is impossible, or None."""
    kind, _, asked = model.partition(":")
    if not is_mixed(model):
        return model, None
    if asked.isdecimal():
        return model, _misfit(int(asked), workers)
    most = topology.cores_together(asked or CACHE)
    fitting = [each for each in range(2, min(most, workers // 2) + 1) if workers % each == 0]
    if not fitting:
        where = {CACHE: "share a cache", NODE: "are of one NUMA node"}[asked or CACHE]
        few = f"processes of at most {most} threads, as many as cores {where}"
        return model, f"N = {workers} cannot be divided into {few}"
    aligned = [each for each in fitting if most % each == 0] or fitting
    return f"{kind}:{aligned[-1]}", None


def _misfit(each: int, workers: int) -> str | None:
    """Reason N workers are not several processes with so many threads each, or None."""
    if workers % each:
        return f"N = {workers} cannot be divided into processes of {each} threads"
    if workers == each:
        return f"N = {workers} in one process is the model threads"
    return None
