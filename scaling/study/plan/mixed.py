"""How many threads each process of a mixed model has, where the study leaves that to the machine.

`mixed` and `mixed:cache` have as many as fit on the cores that share a third-level cache, where
cores pass data to each other soonest; `mixed:node` as many as fit on those of one NUMA node. That
is the largest divisor of N up to there that leaves two processes at least. One that divides the
cores, too, is preferred: workers that are pinned in order then have no process on two caches.
"""

from scaling.base.models import CACHE, NODE, is_mixed
from scaling.machine.topology import Topology


def placed(model: str, workers: int, topology: Topology) -> tuple[str, str | None]:
    """The model with its number of threads in each process, `mixed:8`; and why it cannot be."""
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
    """Why N workers are not several processes with so many threads each; None if they are."""
    if workers % each:
        return f"N = {workers} cannot be divided into processes of {each} threads"
    if workers == each:
        return f"N = {workers} in one process is the model threads"
    return None
