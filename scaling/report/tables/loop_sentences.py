"""What loops and runtimes come to in words: one sentence each, at the most telling N.

Where several arms and models were run, threads without the GIL are spoken of, which is what is
asked; the choice heeds no figure, and what the others come to is counted.
"""

from collections import Counter

from scaling.analysis.comparison.compare import Compared
from scaling.analysis.comparison.contrast import Contrast
from scaling.analysis.comparison.version_arms import free_arms
from scaling.report.tables.phrases import besides, doing, named, opening, spoken


def across_loops(compared: Compared) -> list[str]:
    """A sentence for each loop and for each runtime; none where there are none."""
    free = free_arms(compared.runs.arms)

    def is_asked(each: Contrast) -> bool:
        return each.of.arm in free and each.of.model == "threads"

    told = []
    for loop in dict.fromkeys(each.of.loop for each in compared.loops):
        here = [each for each in compared.loops if each.of.loop == loop]
        at_n = _telling(here, compared.runs.telling_n)
        chosen = max(at_n, key=is_asked)  # the first of those that are, or else the first
        told.append(over_asyncio(chosen) + _others(chosen, at_n))
    for arm in dict.fromkeys(each.of.arm for each in compared.runtimes):
        here = [each for each in compared.runtimes if each.of.arm == arm]
        told += map(over_python, _telling(here, compared.runs.telling_n))
    return told


def over_asyncio(found: Contrast) -> str:
    """`Faster: 2 threads on 3.14t with uvloop do 1.35 times (1.30–1.40) what they do …`."""
    one = found.of.workers == 1
    ratio = spoken(found.throughput)
    told = f"{opening(found.throughput)}: {named(found.of)} {'does' if one else 'do'} {ratio} what "
    return f"{told}{'it does' if one else 'they do'} with {found.over.loop}{_cost(found)}."


def over_python(found: Contrast) -> str:
    """`Faster: go at N = 2 does 15.3 times (14.9–15.8) what 2 threads on 3.14t do, …`."""
    told = f"{opening(found.throughput)}: {found.of.arm} at N = {found.of.workers} does "
    told += f"{spoken(found.throughput)} what {doing(found.over)} with {found.over.loop}"
    return f"{told}{_cost(found)}; the two differ in everything."


def _cost(found: Contrast) -> str:
    if not found.cpu_s_per_op.n:
        return ""
    return f"; CPU time per operation: {besides(found.cpu_s_per_op, ' times')}"


def _telling(found: list[Contrast], n: int) -> list[Contrast]:
    """Those at the N to speak of: the largest up to `n`, or else the smallest."""
    ns = [each.of.workers for each in found]
    at = max((each for each in ns if each <= n), default=min(ns))
    return [each for each in found if each.of.workers == at]


def _others(chosen: Contrast, at_n: list[Contrast]) -> str:
    """` Of 3 other arms and models at N = 2: 2 faster, 1 inconclusive.`; empty below six blocks."""
    others = [each.throughput for each in at_n if each is not chosen]
    if all(each.coverage is None for each in others):
        return ""
    words = Counter(each.verdict.word for each in others)
    counted = ", ".join(f"{count} {word}" for word, count in words.most_common())
    noun = "other arm or model" if len(others) == 1 else "other arms and models"
    return f" Of {len(others)} {noun} at N = {chosen.of.workers}: {counted}."
