"""Threads over processes at the same N, and interpreters over processes: which to ship?

What they are held against is the best that people can have today: N processes on the better of
`3.14` and `3.14+mimalloc`, by median throughput at that N. Of two that are equal the better one is
the luckier one, so the comparison errs in favour of processes, by less than the noise of a run.
"""

from dataclasses import dataclass

from scaling.analysis.estimate import Estimate
from scaling.analysis.families import Family, families
from scaling.analysis.paired import Paired, Way


@dataclass(frozen=True, slots=True)
class Rivalry:
    """`ours` over `theirs`: each figure is ours divided by theirs, paired inside blocks.

    `among` are the ways of which `theirs` was the fastest. Memory is PSS over PSS, or RSS over RSS
    where either has no PSS; `memory_kind` says which.
    """

    ours: Way
    theirs: Way
    among: list[Way]
    throughput: Estimate
    cpu_s_per_op: Estimate
    memory: Estimate
    memory_kind: str

    @property
    def workers(self) -> int:
        """N, the same for both."""
        return self.ours.workers


def rivalries(runs: Paired) -> list[Rivalry]:
    """Threads of every version's free arm, and interpreters of any arm, over processes at each N.

    Where no arm with the GIL ran as processes, an arm is held against its own.
    """
    found = []
    for family in families(runs.arms):
        ours = [(family.free, "threads")]
        ours += [(arm, "interpreters") for arm in family.rungs]
        for arm, model in ours:
            for n in runs.workers:
                way = Way(arm, model, n)
                among = _processes(runs, family, way)
                theirs = runs.fastest(among)
                if theirs is not None and runs.measured([way]):
                    found.append(_rivalry(runs, way, theirs, among))
    return [each for each in found if each.throughput.n]


def ceiling(runs: Paired) -> list[Way]:
    """At each N the fastest processes of an arm with the GIL, of any version; else of any arm."""
    found = []
    with_gil = [arm for family in families(runs.arms) for arm in family.with_gil]
    for n in runs.workers:
        usual = runs.fastest(Way(arm, "processes", n) for arm in with_gil)
        way = usual or runs.fastest(Way(arm, "processes", n) for arm in runs.arms)
        found += [way] if way else []
    return found


def _processes(runs: Paired, family: Family, ours: Way) -> list[Way]:
    """The processes that a way is held against."""
    usual = runs.measured(Way(arm, "processes", ours.workers) for arm in family.with_gil)
    return usual or runs.measured([Way(ours.arm, "processes", ours.workers)])


def _rivalry(runs: Paired, ours: Way, theirs: Way, among: list[Way]) -> Rivalry:
    kind, memory = runs.memory_ratio(ours, theirs)
    return Rivalry(
        ours,
        theirs,
        among,
        throughput=runs.ratio(ours, theirs, "throughput"),
        cpu_s_per_op=runs.ratio(ours, theirs, "cpu_s_per_op"),
        memory=memory,
        memory_kind=kind,
    )
