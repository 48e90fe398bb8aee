"""P99 at a rate is compared with the strongest processes, and lower bounds prove no more."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scaling.analysis.lookup.figure import figure
from scaling.analysis.ratios import Ratio, Ratios
from scaling.analysis.ratios import ratios as ratios_of
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import read_journal
from scaling.base.errors import UsageError
from scaling.base.formats import percents
from scaling.journal.record import RunLine
from scaling.report.plots.caption import noise_text
from scaling.report.quotes.lookup import Lookup
from scaling.report.tables.notes import spread_text
from scaling.report.tables.rated import rated
from scaling.study.questions import OVER_PROCESSES, P99, every_ratio
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


def p99s(results: StudyResults) -> Ratios:
    return results.ratios.where(OVER_PROCESSES, P99)


def rate_of(ratio: Ratio) -> float:
    rate = ratio.of.parameters["rate_per_s"]
    assert isinstance(rate, float)
    return rate


def ratios(folder: Path, made: Served) -> dict[tuple[float, int], Ratio]:
    found = p99s(StudyResults.of(studied(folder, made)))
    assert all((each.of.arm, each.of.model) == THREADS for each in found)
    return {(rate_of(each), each.of.workers): each for each in found}


def test_the_strongest_processes_are_the_baseline(tmp_path: Path) -> None:
    found = ratios(tmp_path, MADE)[400.0, 1]
    assert (found.over.arm, found.over.model, found.over.workers) == (*PROCESSES, 1)
    expected = (1_500 - 400) / (1_000 - 400)  # latencies of M/M/1 queues
    np.testing.assert_allclose(found.point, expected, rtol=0.1)
    assert found.verdict.word == "slower"  # a longer latency


def test_a_shorter_latency_is_faster(tmp_path: Path) -> None:
    swapped = {THREADS: 1_500.0, PROCESSES: 1_000.0, FORKED: 1_000.0}
    found = ratios(tmp_path, replace(MADE, speeds=swapped))[400.0, 1]
    assert found.point < 1
    assert found.verdict.word == "faster"


def test_one_ratio_is_primary(tmp_path: Path) -> None:
    found = ratios(tmp_path, MADE)
    primary = [at for at, each in found.items() if each.verdict.family == "primary"]
    assert primary == [(800.0, 2)]


def test_capacities_are_primary_where_there_are_objectives(tmp_path: Path) -> None:
    head, *runs = journal(MADE)
    head = with_(head, study={"slo": ["p99<20ms"]})
    results = StudyResults.of(read_journal(write([head, *runs], tmp_path / "journal.jsonl")))
    families = {each.verdict.family for each in p99s(results)}
    assert families == {"exploratory"}
    assert any(each.verdict.family == "primary" for each in results.ratios)


def test_a_lower_bound_proves_only_what_is_beyond_it(tmp_path: Path) -> None:
    made = replace(MADE, workers=(1,), rates=(1200.0, 1600.0))
    found = ratios(tmp_path / "threads", made)
    assert found[1200.0, 1].verdict.word == "slower"  # threads alone fell behind
    assert (1600.0, 1) not in found  # all of them did
    odd = {THREADS: 1_290.0, PROCESSES: 1_000.0, FORKED: 1_000.0}
    noisy = ratios(tmp_path / "both", replace(made, speeds=odd, noise=0.0))
    assert noisy[1200.0, 1].verdict.word == "faster"  # processes alone did


@pytest.mark.parametrize("measure", ["latency_p99_s", "latency_p50_s"])
def test_two_lower_bounds_have_no_ratio_that_a_text_could_quote(
    tmp_path: Path, measure: str
) -> None:
    made = replace(MADE, workers=(1,), rates=(1200.0, 1600.0))
    study = studied(tmp_path / "study", made)

    def cell(rate: float) -> dict[str, object]:
        parameters = {"rate_per_s": rate}
        return {"workload": "serve", "arm": "3.14t", "workers": 1, "parameters": parameters}

    over = {"arm": "3.14", "model": "processes"}
    assert figure(study, measure, cell(1200.0), over).estimate.n == made.blocks  # threads alone
    assert figure(study, measure, cell(1600.0), over).estimate.n == 0
    assert figure(study, measure, cell(1600.0)).estimate.n == made.blocks  # a bound itself is one
    source = f"study: {measure} workload=serve parameters.rate_per_s=1600 arm=3.14t workers=1 "
    source += "over.arm=3.14 over.model=processes"
    with pytest.raises(UsageError, match="it is a ratio of two lower bounds"):
        Lookup(tmp_path).figure(source)


def test_what_a_server_declines_makes_its_p99_a_lower_bound(tmp_path: Path) -> None:
    def declines(fraction: float) -> Callable[[RunLine], RunLine]:
        def changed(run: RunLine) -> RunLine:
            is_threads = run.load is not None and run.cell.model == "threads"
            count = round(fraction * run.load.offered) if run.load and is_threads else 0
            return with_(run, load__declined={"status 503": count})

        return changed

    def word(name: str, fraction: float) -> str:
        journal = studied(tmp_path / name, quick, declines(fraction))
        (found,) = p99s(StudyResults.of(journal))
        return found.verdict.word

    quick = replace(MADE, speeds={THREADS: 1_500.0, PROCESSES: 1_000.0}, workers=(1,))
    quick = replace(quick, configurations=(THREADS, PROCESSES), rates=(400.0,))
    assert word("few", 0.001) == "faster"
    assert word("many", 0.05) == "inconclusive"  # the slowest requests are in no latency


def test_few_blocks_give_no_verdict(tmp_path: Path) -> None:
    found = ratios(tmp_path, replace(MADE, blocks=2))
    assert {each.verdict.word for each in found.values()} == {"inconclusive"}


def test_each_rate_has_the_noise_of_its_own_pair(tmp_path: Path) -> None:
    four = (*MADE.configurations, ("3.14+mimalloc", "processes"))
    journal = studied(tmp_path, replace(MADE, configurations=four, aa_pairs=True))
    results = StudyResults.of(journal)
    floors: dict[float, float] = {}
    for pair in results.floor.pairs:
        rate = float(str(pair.parameters["rate_per_s"]))
        floors[rate] = max(0.02, pair.floor("latency_p99_s"), floors.get(rate, 0.0))
    assert len(floors) == len(set(floors.values())) == len(MADE.rates)
    assert {each.verdict.margin for each in p99s(results)} == {0.02}
    for cell in results.blocks.cells:
        noise = results.floor.of(cell.workload, "latency_p99_s", cell.parameters)
        assert max(0.02, noise) == floors[float(str(cell.parameters["rate_per_s"]))]
    every = [pair.floor("latency_p99_s") for pair in results.floor.pairs]
    assert f"±{percents(every)} (serve, P99)" in spread_text(results)
    (captioned, *_) = rated(results)
    assert f"±{percents(every)} in P99" in noise_text(captioned.section, results.floor)


def test_a_latency_that_is_a_lower_bound_is_no_noise(tmp_path: Path) -> None:
    slow = replace(MADE, configurations=(THREADS,), rates=(4_000.0,), aa_pairs=True)
    (pair,) = StudyResults.of(studied(tmp_path, slow)).floor.pairs
    assert pair.ratios["throughput"].n == MADE.blocks
    assert pair.ratios["latency_p99_s"].n == 0


def test_each_percentile_has_its_own_noise_and_all_one_margin(tmp_path: Path) -> None:
    results = StudyResults.of(studied(tmp_path, replace(MADE, aa_pairs=True)))
    floors = {column: results.floor.of("serve", column) for column in PERCENTILES}
    assert len(set(floors.values())) == len(PERCENTILES)
    for column in floors:
        asked = [
            replace(each, measure=column)
            for each in every_ratio(results.blocks)
            if each.measure == P99
        ]
        found = ratios_of(results.blocks, asked)
        assert {each.verdict.margin for each in found} == {0.02}
