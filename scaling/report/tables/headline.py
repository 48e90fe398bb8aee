"""The answer of a whole study: one sentence, and a row for each workload and loop."""

from collections import Counter
from collections.abc import Iterator, Sequence

from scaling.analysis.comparison import Compared, OverProcesses
from scaling.analysis.ratios import Ratio
from scaling.analysis.results import StudyResults
from scaling.analysis.served.capacity import Capacity, over_processes
from scaling.analysis.statistics.verdict import RatioVerdict
from scaling.base import formats
from scaling.base.vocabulary import THREADS
from scaling.report.tables import arms
from scaling.report.tables.comparison import QUESTIONS
from scaling.report.tables.findings import Finding, builds_of, in_words, named, times, workers
from scaling.report.tables.measures import in_ms
from scaling.report.tables.rates import Rated, free_running, has_open_loop, rated
from scaling.study.load import RATE

NOTHING = "No headline ratio: a gain needs valid runs at more than one N."


def name_of(compared: Compared) -> str:
    """`echo · asyncio`; a sizing other than weak is named, too."""
    section = compared.section
    sizing = [] if section.sizing == "weak" else [section.sizing]
    return " · ".join([section.label, compared.loop, *sizing])


def headlines(results: StudyResults) -> list[Compared]:
    """Each workload and loop that has a gain or, with one N, threads over processes; none where
    nothing has a gain, or the study is of settings. Controls only where there is nothing else.
    """
    if results.is_of_settings:
        return []
    on_one_loop = [each for each in free_running(results) if not each.is_across_loops]
    studied = [each for each in on_one_loop if not each.section.is_control]
    if not has_open_loop(results):
        studied = studied or on_one_loop
    if not any(each.headline_gains for each in studied):
        return []
    return [each for each in studied if each.headline_gains or threads_over_processes(each)]


def threads_over_processes(compared: Compared) -> list[OverProcesses]:
    """Threads over as many processes, at the headline N."""
    subject = compared.headline_n, THREADS
    return [each for each in compared.over_processes if (each.of.workers, each.of.model) == subject]


def other_ratios(results: StudyResults) -> list[Finding]:
    """The answers to all other questions of a study, without their notes: what it says where
    nothing has a gain. A study of settings answers that question alone.
    """
    questions = [arms.SETTINGS] if results.is_of_settings else QUESTIONS
    return [
        Finding(finding.question, finding.ratio, label=compared.section.label)
        for compared in free_running(results)
        if compared.compares and not (compared.section.is_control and has_open_loop(results))
        for question in questions
        for finding in question.findings(compared)
        if finding.ratio.n and finding.is_throughput
    ]


def headline_findings(found: Sequence[Compared]) -> list[Finding]:
    """The rows of the first table: gains first, then threads over processes."""
    gains = [
        Finding(f"{name_of(each)}: {named(gain.of)} over {workers(gain.over)}", gain)
        for each in found
        for gain in each.headline_gains
    ]
    processes = [
        Finding(f"{name_of(each)}: {named(ratio.of)} over {named(ratio.over)}", ratio)
        for each in found
        for ratio in (one.throughput for one in threads_over_processes(each))
    ]
    return [*gains, *processes]


def headline_sentence(found: Sequence[Compared]) -> str:
    """`2 threads on 3.14t do 1.88× (95 % interval 1.72–1.91) the round trips of 1 thread …`."""
    gains = [(each, gain) for each in found for gain in each.headline_gains]
    processes = [one.throughput for each in found for one in threads_over_processes(each)]
    first = f"{_gain(gains)}."
    return f"{first} {_processes(processes)}." if processes else first


def others_sentence(found: Sequence[Finding]) -> str:
    """`6 ratios of throughput (faster in 5 of 6 cases, inconclusive in 1).`; empty for none."""
    ratios = [each.ratio for each in found]
    if not ratios:
        return ""
    return f"{formats.plural(len(ratios), 'ratio')} of throughput ({counted(ratios)})."


def _gain(gains: list[tuple[Compared, Ratio]]) -> str:
    each, gain = gains[0]
    ratios = [gain for _, gain in gains]
    over = workers(gain.over)
    if len(gains) == 1:
        operation = each.section.operation
        done = f"{named(gain.of)} do {in_words(gain)} the {operation} of {over}"
        return f"{name_of(each)}: {done}"
    subject = (
        named(gain.of)
        if len({(gain.of.arm, gain.of.model, gain.of.workers) for _, gain in gains}) == 1
        else _common(gains)
    )
    one = over if len({gain.over.model for _, gain in gains}) == 1 else "1 worker"
    return f"{subject} do {_range(ratios)} the work of {one} (medians; {counted(ratios)})"


def _common(gains: list[tuple[Compared, Ratio]]) -> str:
    """`2 workers`, or `N threads on 3.14t` where only N differs."""
    ns, arms, models = (
        {getattr(gain.of, name) for _, gain in gains} for name in ("workers", "arm", "model")
    )
    count = str(ns.pop()) if len(ns) == 1 else "N"
    noun = models.pop() if len(models) == 1 else "workers"
    return f"{count} {noun}{f' on {arms.pop()}' if len(arms) == 1 else ''}"


def _processes(ratios: list[Ratio]) -> str:
    if len(ratios) == 1:
        return f"Over {named(ratios[0].over)} that is {in_words(ratios[0])}"
    on = builds_of(ratio.over for ratio in ratios)
    return (
        f"Over as many processes on {on}, throughput is "
        f"{_range(ratios)} (medians; {counted(ratios)})"
    )


def _range(ratios: Sequence[RatioVerdict]) -> str:
    """`0.95× to 1.93×`: the smallest and the largest median."""
    ends = sorted(ratios, key=lambda ratio: ratio.point)
    return " to ".join(dict.fromkeys((times(ends[0]), times(ends[-1]))))


def counted(ratios: Sequence[RatioVerdict]) -> str:
    """`faster in 3 of 4 cases, inconclusive in 1`."""
    (most, count), *others = Counter(ratio.verdict.word for ratio in ratios).most_common()
    first = f"{most} in {count} of {len(ratios)} cases" if others else f"{most} in all cases"
    return ", ".join([first, *(f"{word} in {count}" for word, count in others)])


# ------------------------------------------------------------------------------------ load headline
# The answer of a study in an open loop: a sentence, and a row for each workload.


def load_findings(results: StudyResults) -> list[Finding]:
    """Threads over processes at the headline N: capacity, or P99 at the middle rate."""
    return [finding for each in rated(results) for finding in _findings(each, results)]


def _findings(each: Rated, results: StudyResults) -> Iterator[Finding]:
    for of, ratio in _capacities(each, results):
        over = f"{named(ratio.of)} over {named(ratio.over)}"
        yield Finding(f"{each.label}: capacity at {of.objective.text}, {over}", ratio)
    for p99 in _latencies(each):
        asked = _asked(each)
        yield Finding(f"{each.label}: P99 {asked}, {named(p99.of)} over {named(p99.over)}", p99)


def load_sentence(results: StudyResults) -> str:
    """What is known of the first workload, in words; empty where nothing was compared."""
    for each in rated(results):
        for of, ratio in _capacities(each, results):
            return (
                f"{each.label}: with {of.objective.text}, {named(of.cell)} answer {of.text}. Over "
                f"{named(ratio.over)}: {in_words(ratio)}."
            )
        for p99 in _latencies(each):
            return (
                f"{each.label}: {_asked(each)} P99 of {named(p99.of)} is {_p99(each, p99)}. "
                f"Over {named(p99.over)}: {in_words(p99)}."
            )
    return ""


def _asked(each: Rated) -> str:
    return f"at {formats.number(each.middle_rate_per_s)} {each.sent}/s"


def _p99(each: Rated, ratio: Ratio) -> str:
    """`5.0 ms (4.9–5.2)`."""
    line = next(one for one in each.lines if each.ratio(one, each.middle_rate_per_s) is ratio)
    at = line.at(each.middle_rate_per_s)
    assert at is not None
    value = in_ms(at.point.figures["latency_p99_s"])
    bounds = f" ({value.bounds})" if value.bounds else ""
    return f"{formats.number(value.point)} ms{bounds}"


def _capacities(each: Rated, results: StudyResults) -> list[tuple[Capacity, Ratio]]:
    return [
        (one, ratio)
        for one in each.headline_capacities
        if (ratio := over_processes(one, results.ratios)) is not None
    ]


def _latencies(each: Rated) -> list[Ratio]:
    return [
        ratio
        for ratio in each.ratios
        if ratio.of.parameters[RATE] == each.middle_rate_per_s
        and ratio.of.workers == each.headline_n
    ]
