"""What a cell loses is split into terms that add up, and the one that grew is named."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scaling.analysis.losses import IDLE, TERMS, Attribution, log_factors
from scaling.report.explain import explained_json
from scaling.report.tables.losses import loss_rows, sentences
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import FakeStudy, place
from tests.support.terms import IDEAL, Terms, TermsOf, plus

TWO = FakeStudy(workers=(1, 2), blocks=8, aa_pairs=True, ticks=2)
BOTH = FakeStudy(models=("threads", "processes"), workers=(1, 2), blocks=8, ticks=2)
NAMES = [term.name for term in TERMS]


def lost(**more: float) -> TermsOf:
    """The terms of a curve that is ideal at N = 1 and loses that at every other N."""
    return lambda arm, model, n: plus(**more) if n > 1 else IDEAL


def cell(
    study: FakeStudy,
    terms: TermsOf,
    of: tuple[str, str, int] = ("3.14t", "threads", 2),
    **more: Any,
) -> Attribution:
    """One cell of a study with these terms."""
    results = replace(study, terms=terms, **more).results
    (found,) = [each for each in results.attributions if place(each.of) == of]
    return found


@pytest.mark.parametrize("term", NAMES)
def test_each_loss_alone_is_found_alone(term: str) -> None:
    found = cell(TWO, lost(**{term: 6_000.0}))
    assert found.misses
    assert found.largest is not None
    assert found.largest.term.name == term
    assert found.largest.loss.point == pytest.approx(6e-6, rel=0.1)
    for loss in found.losses:
        if loss.term.name != term:
            assert abs(loss.loss.point) < 1e-6
            assert loss.factor.point == pytest.approx(1, abs=0.03)


def test_losses_add_up_and_factors_multiply() -> None:
    def terms(arm: str, model: str, n: int) -> Terms:
        return plus(user=700.0 * n, blocked=300.0 * n, idle=-100.0 * n, rest=40.0 * n)

    results = FakeStudy(blocks=7, ticks=2, terms=terms, terms_noise=0.1).results
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


def test_the_efficiency_is_that_of_throughput() -> None:
    exact = replace(TWO, terms=lost(user=5_000.0), terms_noise=0.0).results
    (section,) = exact.sections
    (curve,) = section.curves
    (found,) = exact.attributions
    assert found.whole is not None
    assert found.whole.factor.point == pytest.approx(curve.points[1].efficiency.point, rel=1e-9)


def test_the_sentence_names_what_comes_after_the_largest() -> None:
    found = cell(TWO, lost(run_queue=9_000.0, blocked=4_000.0, rest=100.0), terms_noise=0.0)
    words = " ".join(sentences(found))
    assert "Largest loss: run queue, 9.0" in words
    assert "Then: blocked, 4.0" in words
    assert "rest" not in words
    assert "blocked in futex (100 %)" in words


def test_a_loss_within_the_margin_has_no_cause() -> None:
    found = cell(TWO, lost(user=60.0))
    assert not found.misses
    assert found.largest is None
    assert "nothing is lost beyond the margin of ±2 %" in sentences(found)[0]


def test_noise_that_hides_losses_is_named() -> None:
    first = sentences(cell(TWO, lost(user=60.0), terms_noise=0.3))[0]
    assert "inconclusive, by a margin of ±2 %. More blocks may decide it" in first
    assert "nothing is lost" not in first


def test_the_machine_is_what_processes_lose() -> None:
    def terms(arm: str, model: str, n: int) -> Terms:
        of_the_machine, of_sharing = 2_000.0 * (n - 1), 3_000.0 * (n - 1) * (model == "threads")
        return plus(user=of_the_machine, blocked=of_sharing)

    threads, processes = cell(BOTH, terms), cell(BOTH, terms, ("3.14t", "processes", 2))
    assert threads.shared is not None
    assert threads.shared.machine.point == pytest.approx(2e-6, rel=0.25)
    assert threads.shared.sharing.point == pytest.approx(3e-6, rel=0.25)
    assert processes.shared is None
    assert threads.largest is not None
    assert threads.largest.term.name == "blocked"
    assert "2 processes lose" in sentences(threads)[-1]


def test_processes_of_another_arm_lose_in_proportion() -> None:
    """Their operation takes three times as long, and half as long again at N = 2."""

    def terms(arm: str, model: str, n: int) -> Terms:
        if arm == "3.14":
            return {"user": 90_000.0 * (1.5 if n > 1 else 1)} if model == "processes" else {}
        return {"user": 30_000.0 * (2 if n > 1 else 1)} if model == "threads" else {}

    found = cell(BOTH, terms, arms=("3.14", "3.14t"), terms_noise=0.0)
    assert found.shared is not None
    assert found.shared.processes.arm == "3.14"
    assert found.shared.machine.point == pytest.approx(15e-6)
    assert found.shared.sharing.point == pytest.approx(15e-6)


def test_calls_that_cannot_be_sampled_are_one_term() -> None:
    def terms(arm: str, model: str, n: int) -> Terms:
        unknown = {"blocked": float("nan"), "rest": float("nan")} if n > 1 else {"blocked": 500.0}
        return {**plus(idle=9_000.0 * (n - 1)), **unknown}

    found = cell(TWO, terms)
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


def test_one_block_has_figures_and_no_verdict() -> None:
    one = replace(TWO, blocks=1, aa_pairs=False, terms=lost(user=20_000.0)).results
    (found,) = one.attributions
    assert found.whole is not None
    assert found.whole.loss.bounds == ""
    assert found.largest is None
    assert "an interval needs 6 blocks, it has 1" in sentences(found)[0]
    document = json.loads(explained_json(one))
    assert document["cells"][0]["terms_ns"]["user"]["loss"]["low"] is None


def test_in_an_open_loop_there_is_no_efficiency() -> None:
    """Throughput is the schedule's: workers that have less to do are idle, and lose nothing."""
    results = FakeServedStudy(
        configurations=(("3.14t", "threads"),),
        rates=(200.0,),
        terms=lost(idle=30_000.0, user=2_000.0),
    ).results
    (found,) = results.attributions
    assert found.is_rated
    assert found.largest is None
    assert not found.misses
    assert "the schedule sets throughput" in sentences(found)[0]
    (document,) = json.loads(explained_json(results))["cells"]
    assert document["factors"] is None
    assert document["terms_ns"]["user"]["at_n"]["value"] == pytest.approx(22_000, rel=0.05)


def test_a_cell_without_readings_says_so() -> None:
    study = FakeStudy(arms=("3.14t", "3.14"), workers=(1, 2), ticks=2)
    found = cell(
        study, lambda arm, model, n: {} if arm == "3.14" else IDEAL, ("3.14", "threads", 2)
    )
    assert found.blocks == 0
    assert "no readings" in sentences(found)[0]


def test_the_rows_are_those_of_the_object() -> None:
    results = FakeStudy(blocks=7, ticks=2, terms=lost(system=4_000.0)).results
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
