"""The noise floor comes from A/A pairs, which are in no other figure; no margin depends on it."""

import math
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.analysis.between_studies import Across
from scaling.analysis.blocks import blocks_of
from scaling.analysis.curves import curves
from scaling.analysis.results import StudyResults
from scaling.analysis.sections import run_issues
from scaling.analysis.statistics.estimate import median
from scaling.analysis.statistics.noise import NO_PAIRS, AAPair, NoiseFloor, noise_floor
from scaling.analysis.statistics.verdict import Margin, hypothesis, judge
from scaling.analysis.table.column import Noise
from scaling.analysis.table.groups import curve_cell
from scaling.analysis.table.load import Journal, load, read_journal
from scaling.base.errors import UsageError
from scaling.journal.record import Parameters, RunLine
from scaling.report.tables.export import summary
from scaling.study.plan.aa_pairs import repeats_of
from scaling.study.questions import CPU, MEMORY, THROUGHPUT
from tests.support.fabricate import Made, Variants, cells_of, journal, with_, write

MEASURES: tuple[Noise, ...] = ("throughput", "cpu_s_per_op", "PSS", "RSS")
BOTH: Variants = {"echo": [{"payload_bytes": 1024}], "compute": [{}]}


def studied(file: Path, made: Made, change: Callable[[RunLine], RunLine] | None = None) -> Journal:
    return read_journal(write(journal(made, change), file))


def floor_of(study: Journal) -> NoiseFloor:
    return noise_floor(study.frame, study.study)


def slowed(run: RunLine, factor: float) -> RunLine:
    """The run with so many times its operations in the same time."""
    assert run.record is not None
    workers = [
        with_(each, ticks__operations=[round(count * factor) for count in each.ticks.operations])
        for each in run.record.workers
    ]
    return with_(run, record__workers=workers)


def apart(factor: float) -> Callable[[RunLine], RunLine]:
    return lambda run: slowed(run, factor) if run.cell.twin else run


@pytest.mark.parametrize("blocks", [3, 8])
@pytest.mark.parametrize("factor", [1.05, 1 / 1.05])
def test_it_is_the_distance_of_aa_pairs_whichever_is_the_faster(
    tmp_path: Path, factor: float, blocks: int
) -> None:
    made = Made(aa_pairs=True, noise=0, tick_noise=0, blocks=blocks)
    found = floor_of(studied(tmp_path / "j.jsonl", made, apart(factor)))
    assert found.of("echo") == pytest.approx(0.05, rel=0.01)
    assert found.of("echo", "cpu_s_per_op") == pytest.approx(0.05, rel=0.01)
    assert found.margin().share == 0.02
    assert found.of("echo") == found.of("echo", "speedup")
    (pair,) = found.pairs
    assert pair.ratios["throughput"].point == pytest.approx(factor, rel=0.001)
    assert (pair.workers, pair.key.workload) == (2, "echo")


def test_it_reaches_as_far_as_the_interval_or_with_few_blocks_the_range(tmp_path: Path) -> None:
    for blocks in (3, 8):
        study = studied(
            tmp_path / f"{blocks}.jsonl", Made(aa_pairs=True, noise=0.03, blocks=blocks)
        )
        frame = study.frame[study.frame["workers"] == 2].set_index(["block", "twin"])
        rates = frame["throughput_per_s"].unstack("twin")
        ratio = median(rates[True] / rates[False], "×")
        assert (ratio.coverage is None) == (blocks == 3)
        assert floor_of(study).of("echo") == pytest.approx(max(ratio.high, 1 / ratio.low) - 1)


def test_the_margin_is_the_studys_whatever_the_noise(tmp_path: Path) -> None:
    quiet = floor_of(studied(tmp_path / "j.jsonl", Made(aa_pairs=True, noise=0, tick_noise=0)))
    assert quiet.of("echo") < 0.001
    noisy = floor_of(studied(tmp_path / "j.jsonl", Made(aa_pairs=True, noise=0.1)))
    assert noisy.of("echo") > 0.03
    assert quiet.margin() == noisy.margin() == NO_PAIRS.margin() == Margin(0.02)
    made = Made(aa_pairs=True, margin=0.05)
    assert floor_of(studied(tmp_path / "j.jsonl", made)).margin() == Margin(0.05)
    assert math.isnan(NO_PAIRS.of("echo"))


def test_a_workload_without_aa_pairs_has_the_largest_floor_of_the_study(tmp_path: Path) -> None:
    def change(run: RunLine) -> RunLine:
        return (
            slowed(run, {"echo": 1.1, "compute": 1.04}[run.cell.workload]) if run.cell.twin else run
        )

    made = Made(variants=BOTH, aa_pairs=True, noise=0, tick_noise=0)
    found = floor_of(studied(tmp_path / "j.jsonl", made, change))
    assert [each.key.workload for each in found.pairs] == ["echo", "compute"]
    assert found.of("compute") == pytest.approx(0.04, rel=0.01)
    assert found.of("scrape") == found.of("echo") == pytest.approx(0.1, rel=0.01)


def aa_pair(
    parameters: str, spread: float, p99_spread: float, workload: str = "serve", blocks: int = 8
) -> AAPair:
    key = curve_cell(workload, parameters, "weak", "uvloop", "3.14t", "threads")
    spreads = dict.fromkeys(MEASURES, spread) | {"latency_p99_s": p99_spread}
    asked = [hypothesis(np.full(blocks, 1 + each), 0.02) for each in spreads.values()]
    return AAPair(key, 2, dict(zip(spreads, judge(asked), strict=True)))


def test_a_ratio_stands_beside_the_pairs_most_like_it() -> None:
    closed = aa_pair('{"server": "asgi", "rate_per_s": 0}', 0.03, math.nan)
    low = aa_pair('{"server": "asgi", "rate_per_s": 500.0}', 0.001, 1.6)
    high = aa_pair('{"server": "asgi", "rate_per_s": 9000}', 0.002, 0.3)
    found = NoiseFloor((aa_pair("{}", 0.5, 2.0, "mix"), closed, low, high))

    def of(measure: str, parameters: str) -> float:
        wanted = Parameters.read(parameters) if parameters else None
        return round(found.of("serve", measure, wanted), 3)

    assert of("throughput", '{"rate_per_s": 0, "server": "asgi"}') == 0.03
    assert of("latency_p99_s", '{"server": "asgi", "rate_per_s": 500}') == 1.6
    assert of("latency_p99_s", '{"rate_per_s": 9000.0, "server": "asgi"}') == 0.3
    assert of("latency_p99_s", '{"server": "tcp", "rate_per_s": 9000}') == 1.6  # of an open loop
    assert of("latency_p99_s", '{"server": "asgi", "rate_per_s": 0}') == 1.6  # its own has none
    assert of("throughput", '{"server": "tcp", "rate_per_s": 700}') == 0.002
    assert of("throughput", '{"server": "tcp"}') == 0.03
    assert of("throughput", "") == 0.03
    assert round(found.of("echo", "latency_p99_s", {}), 3) == 2.0


def test_a_pair_of_few_blocks_can_only_raise_the_floor() -> None:
    asked = '{"rate_per_s": 9000}'

    def floor(*pairs: AAPair) -> float:
        found = {
            NoiseFloor(some).of("serve", "latency_p99_s", Parameters.read(asked))
            for some in permutations(pairs)
        }
        (one,) = found
        return one

    for other in ('{"rate_per_s": 500}', "serve"), ("{}", "echo"):
        for blocks, expected in [(1, 0.8), (3, 0.8), (4, 0.1)]:
            lucky = aa_pair(asked, 0.01, 0.1, blocks=blocks)
            assert floor(aa_pair(other[0], 0.03, 0.8, other[1]), lucky) == pytest.approx(expected)
        noisy = aa_pair(asked, 0.01, 0.8, blocks=3)
        assert floor(aa_pair(other[0], 0.03, 0.1, other[1]), noisy) == pytest.approx(0.8)
        assert floor(noisy) == pytest.approx(0.8)


def test_invalid_runs_are_in_no_figure(tmp_path: Path) -> None:
    def change(run: RunLine) -> RunLine:
        if not run.cell.twin or run.block:
            return run
        return with_(slowed(run, 5), disturbance__throttled_s=0.5)

    made = Made(aa_pairs=True, noise=0, tick_noise=0)
    found = floor_of(studied(tmp_path / "some.jsonl", made, change))
    assert found.pairs[0].ratios["throughput"].n == 2
    assert found.of("echo") < 0.001

    def crashed(run: RunLine) -> RunLine:
        return with_(run, outcome="crashed", record=None, exit_code=1) if run.cell.twin else run

    assert floor_of(studied(tmp_path / "none.jsonl", made, crashed)).pairs == ()


def test_memory_has_a_floor_of_its_own(tmp_path: Path) -> None:
    def change(run: RunLine) -> RunLine:
        more = round((run.memory.pss_bytes or 0) * 1.07)
        return with_(run, memory__pss_bytes=more) if run.cell.twin else run

    found = floor_of(studied(tmp_path / "j.jsonl", Made(aa_pairs=True, noise=0), change))
    assert found.of("echo", "PSS") == found.of("echo", "memory") == pytest.approx(0.07, abs=0.02)
    assert found.of("echo", "RSS") < 0.03
    assert found.of("echo") < 0.03
    with pytest.raises(ValueError, match="no noise is known of 'lag'"):
        found.of("echo", "lag")


@pytest.mark.parametrize(
    ("arms", "models", "arm", "model"),
    [
        (("3.14", "3.14t+gil", "3.14t"), ("threads",), "3.14t", "threads"),
        (("3.14t",), ("processes",), "3.14t", "processes"),
    ],
)
def test_a_pair_is_of_threads_without_the_gil_where_there_are_any(
    arms: tuple[str, ...], models: tuple[str, ...], arm: str, model: str
) -> None:
    (twin,) = repeats_of(cells_of(Made(arms=arms, models=models)))
    assert (twin.arm, twin.model, twin.workers, twin.twin) == (arm, model, 2, True)


@pytest.mark.parametrize(
    ("arms", "models", "threads", "arm", "model"),
    [
        (("3.14", "3.14t"), ("processes", "threads"), "3.14t", "3.14", "processes"),
        (("3.14", "3.14+mimalloc"), ("threads", "forked"), "3.14", "3.14+mimalloc", "forked"),
        (("3.14t", "3.14t+gil"), ("threads", "forked", "processes"), "3.14t", "3.14t+gil",
         "processes"),
        (("3.14t",), ("threads", "processes"), "3.14t", "3.14t", "processes"),
    ],
)  # fmt: skip
def test_the_strongest_processes_have_a_pair_too(
    arms: tuple[str, ...], models: tuple[str, ...], threads: str, arm: str, model: str
) -> None:
    """Those that threads are compared with, as far as that is known before they are measured."""
    ours, theirs = repeats_of(cells_of(Made(arms=arms, models=models)))
    assert (ours.arm, ours.model, ours.workers) == (threads, "threads", 2)
    assert (theirs.arm, theirs.model, theirs.workers, theirs.twin) == (arm, model, 2, True)


def test_aa_pairs_are_in_no_other_figure(tmp_path: Path) -> None:
    """They would be ten times as fast, and in part invalid; no other figure changes."""

    def change(run: RunLine) -> RunLine:
        if not run.cell.twin:
            return run
        return with_(slowed(run, 10), disturbance__throttled_s=0.5 * (run.block == 0))

    made = Made(arms=("3.14", "3.14t"), models=("threads", "processes"), aa_pairs=True)
    study = studied(tmp_path / "j.jsonl", made, change)
    assert study.frame["twin"].sum() == 2 * made.blocks
    without = study.frame[~study.frame["twin"]]
    assert repr(curves(study.frame)) == repr(curves(without))
    assert summary(StudyResults.of(study)).equals(summary(StudyResults(without, study.study)))
    whole, bare = blocks_of(study.frame, study.study), blocks_of(without, study.study)
    assert whole.cells == bare.cells
    for cell in whole.cells:
        for measure in (THROUGHPUT, CPU, MEMORY):
            values, alone = whole.series(cell, measure).values, bare.series(cell, measure).values
            np.testing.assert_array_equal(values, alone)


def test_an_invalid_duplicate_is_listed_as_one(tmp_path: Path) -> None:
    def change(run: RunLine) -> RunLine:
        return with_(run, disturbance__throttled_s=0.5) if run.cell.twin else run

    study = studied(tmp_path / "j.jsonl", Made(aa_pairs=True), change)
    (listed,) = run_issues(study.frame)
    assert listed.cell == "echo · weak · asyncio · 3.14t · threads · N = 2 · A/A pair"
    assert (listed.validity, listed.runs, listed.reasons) == ("invalid", 3, "throttled")


def test_verdicts_use_it(tmp_path: Path) -> None:
    """4 % faster is faster, unless equal cells are proven to differ: then nothing is."""
    made = Made(aa_pairs=True, blocks=8, noise=0.002, tick_noise=0)
    then = studied(tmp_path / "then.jsonl", made)
    words, withheld = {}, [""]
    for name, spread in (("quiet", 1.0), ("odd", 1.08)):

        def change(run: RunLine, spread: float = spread) -> RunLine:
            return slowed(run, 1.04 * (spread if run.cell.twin else 1))

        now = studied(tmp_path / f"{name}.jsonl", made, change)
        found = Across(StudyResults.of(then), StudyResults.of(now)).ratios
        throughput = found.where(measure="throughput_per_s")
        words[name] = {each.verdict.text.partition(":")[0] for each in throughput}
        (memory,) = {each.verdict.word for each in found.where(measure="pss_bytes")}
        assert memory == "same", "that equal cells do not differ in"
        withheld = StudyResults.of(now).caveats
    assert words == {
        "quiet": {"faster, by 4 %"}, "odd": {"inconclusive, A/A pair differs"}
    }  # fmt: skip
    assert withheld[0].startswith(
        "No verdicts on throughput: equal cells (echo · asyncio · 3.14t · threads, N = 2) differ, "
        "faster, by 8 %"
    )


def test_two_studies_have_no_common_floor(tmp_path: Path) -> None:
    paths = [write(journal(Made(name=name)), tmp_path / name) for name in ("a", "b")]
    study = read_journal(paths[0])
    with pytest.raises(UsageError, match="2 studies"):
        noise_floor(load(paths), study.study)


RATIO = st.floats(0.5, 2) | st.sampled_from([math.nan, math.inf, 1.0])


@given(st.lists(st.lists(RATIO, max_size=9), max_size=3))
def test_any_aa_pairs_have_a_floor_or_none(ratios: list[list[float]]) -> None:
    """None, one, several pairs; no block, one, few, all alike, NaN."""
    key = curve_cell("echo", "{}", "weak", "asyncio", "3.14t", "threads")
    estimates = judge([hypothesis(np.array(each, np.float64), 0.02) for each in ratios])
    pairs = tuple(AAPair(key, 2, dict.fromkeys(MEASURES, each)) for each in estimates)
    found = NoiseFloor(pairs)
    known = [max(each.high, 1 / each.low) - 1 for each in estimates if each.n]
    if known:
        assert found.of("echo") == max(known) >= 0
    else:
        assert math.isnan(found.of("echo"))
    assert bool(found.margin().doubt) == any(each.verdict.side for each in estimates)
    assert found.margin().share == 0.02
