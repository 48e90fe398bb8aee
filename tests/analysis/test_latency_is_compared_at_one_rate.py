"""P99 at a rate is compared with the strongest processes, and lower bounds prove no more."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from scaling.analysis.comparison.between_studies import across
from scaling.analysis.results import StudyResults
from scaling.analysis.served.latency_ratios import LatencyRatio, latency_ratios
from scaling.analysis.table.load import read_journal
from scaling.base.formats import percents
from scaling.journal.record import RunLine
from scaling.report.plots.load_caption import noise_text
from scaling.report.tables.margins import spread_text
from scaling.report.tables.rated import rated
from tests.support.fabricate import with_, write
from tests.support.served import Served, journal, studied

THREADS, PROCESSES, FORKED = ("3.14t", "threads"), ("3.14", "processes"), ("3.14", "forked")
MADE = Served(
    configurations=(THREADS, PROCESSES, FORKED),
    speeds={THREADS: 1_000.0, PROCESSES: 1_500.0, FORKED: 1_450.0},
    workers=(1, 2),
    rates=(400.0, 800.0, 1600.0),
    blocks=6,
    window_s=6.0,
)


PERCENTILES = ("latency_p50_s", "latency_p90_s", "latency_p95_s", "latency_p99_s")


def ratios(folder: Path, made: Served) -> dict[tuple[float, int], LatencyRatio]:
    found = StudyResults.of(studied(folder, made)).latency_ratios
    assert all((each.of.arm, each.of.model) == THREADS for each in found)
    return {(each.rate_per_s, each.of.workers): each for each in found}


def test_the_strongest_processes_are_the_baseline(tmp_path: Path) -> None:
    found = ratios(tmp_path, MADE)[400.0, 1]
    assert (found.over.arm, found.over.model, found.over.workers) == (*PROCESSES, 1)
    expected = (1_500 - 400) / (1_000 - 400)  # latencies of M/M/1 queues
    np.testing.assert_allclose(found.ratio.point, expected, rtol=0.1)
    assert found.ratio.verdict.word == "slower"  # a longer latency


def test_a_shorter_latency_is_faster(tmp_path: Path) -> None:
    swapped = {THREADS: 1_500.0, PROCESSES: 1_000.0, FORKED: 1_000.0}
    found = ratios(tmp_path, replace(MADE, speeds=swapped))[400.0, 1]
    assert found.ratio.point < 1
    assert found.ratio.verdict.word == "faster"


def test_one_ratio_is_primary(tmp_path: Path) -> None:
    found = ratios(tmp_path, MADE)
    primary = [at for at, each in found.items() if each.ratio.verdict.family == "primary"]
    assert primary == [(800.0, 2)]


def test_capacities_are_primary_where_there_are_objectives(tmp_path: Path) -> None:
    head, *runs = journal(MADE)
    head = with_(head, study={"slo": ["p99<20ms"]})
    results = StudyResults.of(read_journal(write([head, *runs], tmp_path / "journal.jsonl")))
    families = {each.ratio.verdict.family for each in results.latency_ratios}
    assert families == {"exploratory"}
    assert any(each.ratio.verdict.family == "primary" for each in results.capacities.ratios)


def test_a_lower_bound_proves_only_what_is_beyond_it(tmp_path: Path) -> None:
    made = replace(MADE, workers=(1,), rates=(1200.0, 1600.0))
    found = ratios(tmp_path / "threads", made)
    assert found[1200.0, 1].ratio.verdict.word == "slower"  # threads alone fell behind
    assert (1600.0, 1) not in found  # all of them did
    odd = {THREADS: 1_290.0, PROCESSES: 1_000.0, FORKED: 1_000.0}
    noisy = ratios(tmp_path / "both", replace(made, speeds=odd, noise=0.0))
    assert noisy[1200.0, 1].ratio.verdict.word == "faster"  # processes alone did


def test_what_a_server_declines_makes_its_p99_a_lower_bound(tmp_path: Path) -> None:
    def declines(fraction: float) -> Callable[[RunLine], RunLine]:
        def changed(run: RunLine) -> RunLine:
            is_threads = run.load is not None and run.cell.model == "threads"
            count = round(fraction * run.load.offered) if run.load and is_threads else 0
            return with_(run, load__declined={"status 503": count})

        return changed

    def word(name: str, fraction: float) -> str:
        journal = studied(tmp_path / name, quick, declines(fraction))
        (found,) = StudyResults.of(journal).latency_ratios
        return found.ratio.verdict.word

    quick = replace(MADE, speeds={THREADS: 1_500.0, PROCESSES: 1_000.0}, workers=(1,))
    quick = replace(quick, configurations=(THREADS, PROCESSES), rates=(400.0,))
    assert word("few", 0.001) == "faster"
    assert word("many", 0.05) == "inconclusive"  # the slowest requests are in no latency


def test_few_blocks_give_no_verdict(tmp_path: Path) -> None:
    found = ratios(tmp_path, replace(MADE, blocks=2))
    assert {each.ratio.verdict.word for each in found.values()} == {"inconclusive"}


def test_aa_pairs_give_the_margin(tmp_path: Path) -> None:
    results = StudyResults.of(studied(tmp_path, replace(MADE, aa_pairs=True)))
    floor = results.floor.of("serve", "latency_p99_s")
    assert 0 < floor < 1
    margins = {each.ratio.verdict.margin for each in results.latency_ratios}
    assert margins == {max(floor, 0.02)}


def test_each_rate_has_the_margin_of_its_own_noise(tmp_path: Path) -> None:
    four = (*MADE.configurations, ("3.14+mimalloc", "processes"))
    journal = studied(tmp_path, replace(MADE, configurations=four, aa_pairs=True))
    results = StudyResults.of(journal)
    floors = {
        float(pair.parameters["rate_per_s"]): max(0.02, pair.floor("latency_p99_s"))
        for pair in results.floor.pairs
    }
    assert len(floors) == len(set(floors.values())) == len(MADE.rates)
    margins = {(each.rate_per_s, each.ratio.verdict.margin) for each in results.latency_ratios}
    assert margins == set(floors.items())
    for runs in results.paired:
        assert runs.section.rate_per_s is not None
        assert runs.margin("latency_p99_s") == floors[runs.section.rate_per_s]
    between = across(*[(journal.frame, journal.study)] * 2).changes
    assert {each.ratio.verdict.margin for each in between} == set(floors.values())
    assert f"±{percents(floors.values())} (serve, P99)" in spread_text(results)
    (captioned, *_) = rated(results)
    assert f"±{percents(floors.values())} in P99" in noise_text(captioned.section, results.floor)


def test_a_latency_that_is_a_lower_bound_is_no_noise(tmp_path: Path) -> None:
    slow = replace(MADE, configurations=(THREADS,), rates=(4_000.0,), aa_pairs=True)
    (pair,) = StudyResults.of(studied(tmp_path, slow)).floor.pairs
    assert pair.ratios["throughput"].n == MADE.blocks
    assert pair.ratios["latency_p99_s"].n == 0


def test_each_percentile_has_the_margin_of_its_own_noise(tmp_path: Path) -> None:
    results = StudyResults.of(studied(tmp_path, replace(MADE, aa_pairs=True)))
    floors = {column: results.floor.of("serve", column) for column in PERCENTILES}
    assert len(set(floors.values())) == len(PERCENTILES)
    for column, floor in floors.items():
        found = latency_ratios(results.frame, results.floor, column=column).judged()
        assert {each.ratio.verdict.margin for each in found} == {max(floor, 0.02)}
