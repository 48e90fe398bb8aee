"""The comparison in words: the verdict first, then the number, and no more than figures bear.

With fewer than six blocks there is a range, the verdict is inconclusive, and the sentence says so.
"""

from scaling.analysis.comparison.baseline import BaselineRatio
from scaling.analysis.comparison.break_even import BreakEven
from scaling.analysis.comparison.compare import Compared
from scaling.analysis.comparison.ladder import Ladder
from scaling.analysis.comparison.paired import Configuration, Paired
from scaling.analysis.statistics.estimate import bounds_kind
from scaling.base import formats
from scaling.report.tables.phrases import besides, doing, named, opening, spoken, workers


def answers(compared: Compared) -> list[str]:
    """What a section says, the most asked first; each at the most telling N."""
    n = compared.runs.telling_n
    told = [freed(ladder) for ladder in compared.ladders if ladder.workers == n]
    baseline_ratios = [
        baseline_ratio for baseline_ratio in compared.baseline_ratios if baseline_ratio.workers == n
    ]
    told += [held_against(each) for each in baseline_ratios if each.ours.model == "threads"]
    told += [even(each) for each in compared.break_evens]
    others = [each for each in baseline_ratios if each.ours.model != "threads"]
    if others:  # the table has them all
        told.append(_fastest_of(others, compared.runs))
    return told


def _fastest_of(baseline_ratios: list[BaselineRatio], runs: Paired) -> str:
    """Of interpreters on several arms the fastest, chosen by what they do and not by the ratio."""

    def speed(baseline_ratio: BaselineRatio) -> float:
        return runs.estimate(baseline_ratio.ours, "throughput", "").point

    fastest = max(baseline_ratios, key=speed)
    told = held_against(fastest)
    arms = list(dict.fromkeys(baseline_ratio.ours.arm for baseline_ratio in baseline_ratios))
    if len(arms) > 1:
        model, arm = fastest.ours.model, fastest.ours.arm
        told += f" Of {model} on {formats.listed(arms)}, those on {arm} are the fastest by median."
    return told


def freed(ladder: Ladder) -> str:
    """The headline and what it is made of."""
    top, bottom = ladder.top, ladder.bottom
    told = f"{opening(ladder.headline)}: {top.arm} with {workers(top)} does "
    told += f"{spoken(ladder.headline)} what {bottom.arm} does with as many"
    if len(ladder.steps) > 1:
        factors = [f"the {step.name} {besides(step.factor, '×')}" for step in ladder.steps]
        told += f"; of that {', '.join(factors)}"
    else:
        told += f"; what changes: {ladder.steps[0].name}"
    told += "."
    if ladder.missing:
        told += f" {' and '.join(ladder.missing)} would tell them apart."
    if not ladder.multiplies_out:
        told += (
            f" The factors multiply to {formats.number(ladder.product)}, outside of that: "
            "they vary from block to block."
        )
    return told


def held_against(baseline_ratio: BaselineRatio) -> str:
    """Threads (or interpreters) over processes: work, CPU time, memory."""
    ours, theirs = baseline_ratio.ours, baseline_ratio.theirs
    chosen = ""
    if len(baseline_ratio.among) > 1:
        chosen = f" (the better of {' and '.join(each.arm for each in baseline_ratio.among)})"
    ratio = baseline_ratio.throughput
    told = f"{opening(ratio)}: {doing(ours)} {spoken(ratio)} what "
    told += f"{doing(theirs)}{chosen}"
    costs = [
        f"{noun}: {besides(value, ' times')}"
        for value, noun in (
            (baseline_ratio.cpu_s_per_op, "CPU time per operation"),
            (baseline_ratio.memory, f"memory ({baseline_ratio.memory_kind})"),
        )
        if value.n
    ]
    return f"{'; '.join([told, *costs])}."


def even(found: BreakEven) -> str:
    """From how many threads on the free build beats the best single worker with the GIL."""
    last = max(found.ratios)
    single = f"the best single worker with the GIL ({found.single.arm}, {found.single.model})"
    if found.at is not None:
        threads = doing(Configuration(found.arm, "threads", found.at))
        told = f"Break-even at N = {found.at}: {threads} {spoken(found.ratios[found.at])} what "
        told += f"{single} does."
        after = {n: value.verdict.word for n, value in found.ratios.items() if n > found.at}
        for word in ("slower", "same"):
            if ns := [n for n, verdict in after.items() if verdict == word]:
                told += f" It does not hold at N = {formats.listed(ns)}, {word} again."
        if found.undecided:
            told += f" It is inconclusive at N = {formats.listed(found.undecided)}."
        return told
    if found.outcome == "never":
        threads = doing(Configuration(found.arm, "threads", last))
        return (
            f"Break-even: never up to N = {last}; {threads} "
            f"{spoken(found.ratios[last])} what {single} does."
        )
    free = f"threads on {found.arm}"
    few = [ratio for ratio in found.ratios.values() if ratio.coverage is None]
    if few:
        kind = bounds_kind(few)
        told = f"Break-even: inconclusive from {f'the {kind}' if kind else 'single runs'}"
        above = [n for n, ratio in found.ratios.items() if ratio.n > 1 and ratio.low > 1]
        lies = f", which lies above 1 at N = {formats.listed(above)}" if above else ""
        return f"{told}{lies}: {free} over {single}."
    return (
        f"Break-even: inconclusive up to N = {last}; at N = {formats.listed(found.undecided)} "
        f"{free} may be slower or faster than {single}."
    )


def states(compared: Compared) -> list[str]:
    """The ratios of ways that ran in different allocator states."""
    pairs = [
        f"{named(of)} ({compared.state(of)}) over {named(over)} ({compared.state(over)})"
        for of, over in compared.across_states
    ]
    if not pairs:
        return []
    return [f"Across allocator states, which are in these ratios, too: {'; '.join(pairs)}."]
