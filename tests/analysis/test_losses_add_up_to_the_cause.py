"""What a cell loses is split into terms that add up, and the one that grew is named."""

import json
from pathlib import Path

import numpy as np
import pytest

from scaling.analysis.losses import IDLE, TERMS, log_factors
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal
from scaling.report.explain import explained_json
from scaling.report.tables.losses import loss_rows, sentences
from tests.support.fabricate import Made, studied
from tests.support.served import Served
from tests.support.served import studied as served
from tests.support.time_terms import IDEAL, Terms, TermsOf, cell, explained, plus, with_terms

TWO = Made(workers=(1, 2), blocks=8, aa_pairs=True, ticks=2)
NAMES = [term.name for term in TERMS]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    return studied(tmp_path_factory.mktemp("two"), TWO)


def of(journal: Journal, terms_of: TermsOf, noise: float = 0.01) -> StudyResults:
    return StudyResults.of(with_terms(journal, terms_of, noise=noise))


def lost(**more: float) -> TermsOf:
    """The terms of a curve that is ideal at N = 1 and loses that at every other N."""
    return lambda arm, model, n: plus(**more) if n > 1 else IDEAL


@pytest.mark.parametrize("term", NAMES)
def test_each_loss_alone_is_found_alone(two: Journal, term: str) -> None:
    found = cell(of(two, lost(**{term: 6_000.0})))
    assert found.misses
    assert found.largest is not None
    assert found.largest.term.name == term
    assert found.largest.loss.point == pytest.approx(6e-6, rel=0.1)
    for loss in found.losses:
        if loss.term.name != term:
            assert abs(loss.loss.point) < 1e-6
            assert loss.factor.point == pytest.approx(1, abs=0.03)


def test_losses_add_up_and_factors_multiply(tmp_path: Path) -> None:
    def terms(arm: str, model: str, n: int) -> Terms:
        return plus(user=700.0 * n, blocked=300.0 * n, idle=-100.0 * n, rest=40.0 * n)

    results = explained(tmp_path, Made(workers=(1, 2, 4), blocks=7, ticks=2), terms, noise=0.1)
    assert len(results.attributions) == 2
    for each in results.attributions:
        assert each.whole is not None
        for figure in ("at_one", "at_n", "loss"):
            parts = [getattr(loss, figure).point for loss in each.losses]
            assert sum(parts) == pytest.approx(getattr(each.whole, figure).point, rel=1e-12)
        product = np.prod([loss.factor.point for loss in each.losses])
        assert product == pytest.approx(each.whole.factor.point, rel=1e-12)


def test_factors_multiply_in_every_block_whatever_the_terms() -> None:
    draws = np.random.default_rng(1)
    one, many = draws.exponential(1, (50, 8)), draws.exponential(3, (50, 8))
    many[:5] = one[:5]  # nothing lost
    many[5] = one[5][::-1]  # the same sum of other terms
    product = np.exp(log_factors(one, many)).prod(axis=1)
    assert product == pytest.approx(one.sum(axis=1) / many.sum(axis=1), rel=1e-12)


def test_the_efficiency_is_that_of_throughput(two: Journal) -> None:
    results = of(two, lost(user=5_000.0), noise=0.0)
    (section,) = results.sections
    (curve,) = section.curves
    efficiency = cell(results).whole.factor.point  # type: ignore[union-attr]
    assert efficiency == pytest.approx(curve.points[1].efficiency.point, rel=1e-9)


def test_the_sentence_names_what_comes_after_the_largest(two: Journal) -> None:
    found = cell(of(two, lost(run_queue=9_000.0, blocked=4_000.0, rest=100.0), noise=0.0))
    words = " ".join(sentences(found))
    assert "Largest loss: run queue, 9.0" in words
    assert "Then: blocked, 4.0" in words
    assert "rest" not in words
    assert "blocked in futex (100 %)" in words


def test_a_loss_within_the_margin_has_no_cause(two: Journal) -> None:
    found = cell(of(two, lost(user=60.0)))
    assert not found.misses
    assert found.largest is None
    assert "nothing is lost beyond the margin of ±2 %" in sentences(found)[0]


def test_noise_that_hides_losses_is_named(two: Journal) -> None:
    first = sentences(cell(of(two, lost(user=60.0), noise=0.3)))[0]
    assert "inconclusive, by a margin of ±2 %. More blocks may decide it" in first
    assert "nothing is lost" not in first


def test_the_machine_is_what_processes_lose(tmp_path: Path) -> None:
    def terms(arm: str, model: str, n: int) -> Terms:
        of_the_machine, of_sharing = 2_000.0 * (n - 1), 3_000.0 * (n - 1) * (model == "threads")
        return plus(user=of_the_machine, blocked=of_sharing)

    made = Made(models=("threads", "processes"), workers=(1, 2), blocks=8, ticks=2)
    results = explained(tmp_path, made, terms)
    threads, processes = cell(results), cell(results, model="processes")
    assert threads.shared is not None
    assert threads.shared.machine.point == pytest.approx(2e-6, rel=0.25)
    assert threads.shared.sharing.point == pytest.approx(3e-6, rel=0.25)
    assert processes.shared is None
    assert threads.largest is not None
    assert threads.largest.term.name == "blocked"
    assert "2 processes lose" in sentences(threads)[-1]


def test_processes_of_another_arm_lose_in_proportion(tmp_path: Path) -> None:
    """Their operation takes three times as long, and half as long again at N = 2."""

    def terms(arm: str, model: str, n: int) -> Terms:
        if arm == "3.14":
            return {"user": 90_000.0 * (1.5 if n > 1 else 1)} if model == "processes" else {}
        return {"user": 30_000.0 * (2 if n > 1 else 1)} if model == "threads" else {}

    made = Made(
        arms=("3.14", "3.14t"), models=("threads", "processes"), workers=(1, 2), blocks=8, ticks=2
    )
    found = cell(explained(tmp_path, made, terms, noise=0.0))
    assert found.shared is not None
    assert found.shared.processes.arm == "3.14"
    assert found.shared.machine.point == pytest.approx(15e-6)
    assert found.shared.sharing.point == pytest.approx(15e-6)


def test_calls_that_cannot_be_sampled_are_one_term(two: Journal) -> None:
    def terms(arm: str, model: str, n: int) -> Terms:
        unknown = {"blocked": float("nan"), "rest": float("nan")} if n > 1 else {"blocked": 500.0}
        return {**plus(idle=9_000.0 * (n - 1)), **unknown}

    found = cell(of(two, terms))
    assert found.one_term
    assert [loss.term.name for loss in found.losses if not loss.loss.n] == ["blocked", "rest"]
    assert found.largest is not None
    assert found.largest.term == IDLE
    assert found.largest.loss.point == pytest.approx(8.5e-6, rel=0.1)
    words = " ".join(sentences(found))
    assert "blocked or idle" in words
    assert "could not be sampled" in words
    parts = sum(loss.loss.point for loss in found.losses if loss.loss.n)
    assert found.whole is not None
    assert parts == pytest.approx(found.whole.loss.point, rel=1e-12)


def test_one_block_has_figures_and_no_verdict(tmp_path: Path) -> None:
    found = cell(explained(tmp_path, Made(workers=(1, 2), blocks=1, ticks=2), lost(user=20_000.0)))
    assert found.whole is not None
    assert found.whole.loss.bounds == ""
    assert found.largest is None
    assert "an interval needs 6 blocks, it has 1" in sentences(found)[0]
    document = json.loads(explained_json(_study(tmp_path / "again", blocks=1)))
    assert document["cells"][0]["terms_ns"]["user"]["loss"]["low"] is None


def _study(folder: Path, blocks: int) -> StudyResults:
    return explained(folder, Made(workers=(1, 2), blocks=blocks, ticks=2), lost(user=20_000.0))


def test_in_an_open_loop_there_is_no_efficiency(tmp_path: Path) -> None:
    """Throughput is the schedule's: workers that have less to do are idle, and lose nothing."""
    journal = served(tmp_path, Served(configurations=(("3.14t", "threads"),), rates=(200.0,)))
    results = StudyResults.of(with_terms(journal, lost(idle=30_000.0, user=2_000.0)))
    found = cell(results)
    assert found.is_rated
    assert found.largest is None
    assert not found.misses
    assert "the schedule sets throughput" in sentences(found)[0]
    (document,) = json.loads(explained_json(results))["cells"]
    assert document["factors"] is None
    assert document["terms_ns"]["user"]["at_n"]["value"] == pytest.approx(22_000, rel=0.05)


def test_a_cell_without_readings_says_so(tmp_path: Path) -> None:
    made = Made(arms=("3.14t", "3.14"), workers=(1, 2), blocks=3, ticks=2)
    results = explained(tmp_path, made, lambda arm, model, n: {} if arm == "3.14" else IDEAL)
    found = cell(results, arm="3.14")
    assert found.blocks == 0
    assert "no readings" in sentences(found)[0]


def test_the_rows_are_those_of_the_object(tmp_path: Path) -> None:
    results = explained(tmp_path, Made(workers=(1, 2, 4), blocks=7, ticks=2), lost(system=4_000.0))
    rows = loss_rows(results).set_index(["workers", "term"])
    for each in json.loads(explained_json(results))["cells"]:
        for name, term in each["terms_ns"].items():
            row = rows.loc[(each["workers"], "all" if name == "total" else name)]
            assert row["loss_ns"] == pytest.approx(term["loss"]["value"])
        for name, factor in each["factors"].items():
            row = rows.loc[(each["workers"], "all" if name == "efficiency" else name)]
            assert row["factor_low"] == pytest.approx(factor["low"])
        assert each["largest"] == "system"
        assert rows.loc[(each["workers"], "system")]["is_largest"]
