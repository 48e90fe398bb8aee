"""What a cell loses is split into terms that add up, and the one that grew is named."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scaling.analysis.tables.derived import EFFICIENCY, FACTOR, LOSS, MACHINE, SHARING, merged
from scaling.analysis.tables.study import Study
from scaling.analysis.tables.terms import IDLE, TERMS, WHOLE, log_factors
from scaling.report.csv import losses
from scaling.report.view.time import Lost, lost, record, sentences
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import FakeStudy, one
from tests.support.terms import IDEAL, Terms, TermsOf, plus

TWO = FakeStudy(workers=(1, 2), blocks=8, aa_pairs=True, ticks=2)
BOTH = FakeStudy(models=("threads", "processes"), workers=(1, 2), blocks=8, ticks=2)
NS = 1e-9


def losing(**more: float) -> TermsOf:
    """The terms of a curve that is ideal at N = 1 and loses that at every other N."""
    return lambda arm, model, n: plus(**more) if n > 1 else IDEAL


def cell(
    study: FakeStudy, terms: TermsOf, model: str = "threads", arm: str = "3.14t", **more: Any
) -> tuple[Study, Lost]:
    """The study with these terms, and its cell of that model at N = 2."""
    made = replace(study, terms=terms, **more).study
    (found,) = [
        each
        for each in lost(made)
        if (each.cell["arm"], each.cell["model"], each.cell["workers"]) == (arm, model, 2)
    ]
    return made, found


def said(study: Study, each: Lost) -> str:
    return " ".join(sentences(study, each))


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_each_loss_alone_is_found_alone(term: Any) -> None:
    _, found = cell(TWO, losing(**{term.name: 6_000.0}))
    assert found.largest == term
    assert found.losses[term].point == pytest.approx(6e-6, rel=0.1)
    for other in found.losses.keys() - {term}:
        assert abs(found.losses[other].point) < 1e-6
        assert found.factors[other].point == pytest.approx(1, abs=0.03)


def test_losses_add_up_and_factors_multiply() -> None:
    def terms(arm: str, model: str, n: int) -> Terms:
        return plus(user=700.0 * n, blocked=300.0 * n, idle=-100.0 * n, rest=40.0 * n)

    study = FakeStudy(blocks=7, ticks=2, terms=terms, terms_noise=0.1).study
    points = study.estimates.set_index(["measure", "workers"])["point"]
    for n in (2, 4):
        parts = [points[LOSS.format(term.name), n] for term in TERMS]
        assert sum(parts) == pytest.approx(points[LOSS.format(WHOLE.name), n], rel=1e-12)
        factors = [points[FACTOR.format(term.name), n] for term in TERMS]
        assert np.prod(factors) == pytest.approx(points[FACTOR.format(WHOLE.name), n], rel=1e-12)


def test_factors_multiply_in_every_block_whatever_the_terms() -> None:
    draws = np.random.default_rng(1)
    few, many = draws.exponential(1, (8, 50)), draws.exponential(3, (8, 50))
    many[:, :5] = few[:, :5]  # nothing lost
    many[:, 5] = few[::-1, 5]  # the same sum of other terms
    product = np.exp(log_factors(few, many)).prod(axis=0)
    assert product == pytest.approx(few.sum(axis=0) / many.sum(axis=0), rel=1e-12)


def test_the_efficiency_is_that_of_throughput() -> None:
    study = replace(TWO, terms=losing(user=5_000.0), terms_noise=0.0).study
    own = one(study.estimates, measure=FACTOR.format(WHOLE.name), workers=2, twin=False)
    usual = one(study.estimates, measure=EFFICIENCY, workers=2, twin=False)
    assert own["point"] == pytest.approx(usual["point"], rel=1e-9)


def test_the_sentence_names_the_largest_with_its_cause() -> None:
    found = cell(TWO, losing(run_queue=9_000.0, blocked=4_000.0, rest=100.0), terms_noise=0.0)
    words = said(*found)
    assert "The largest part is run queue, 9,0" in words
    assert "more threads are ready to run than there are CPUs" in words
    assert "Blocked in: running (60 %), futex (30 %)" in said(*cell(TWO, losing(blocked=4_000.0)))


@pytest.mark.parametrize(
    ("lost_ns", "more", "text"),
    [
        (60.0, {}, "Nothing is lost beyond the margin of 2 %."),
        (60.0, {"terms_noise": 0.3}, "No loss is proven: more blocks may decide it."),
        (20_000.0, {"blocks": 1, "aa_pairs": False}, "Too few blocks to name a cause (1 of 6)."),
    ],
)
def test_a_loss_that_is_not_proven_has_no_cause(
    lost_ns: float, more: dict[str, Any], text: str
) -> None:
    study, found = cell(TWO, losing(user=lost_ns), **more)
    assert found.largest is None
    assert text in said(study, found)


def test_the_machine_is_what_processes_lose() -> None:
    def terms(arm: str, model: str, n: int) -> Terms:
        of_the_machine, of_sharing = 2_000.0 * (n - 1), 3_000.0 * (n - 1) * (model == "threads")
        return plus(user=of_the_machine, blocked=of_sharing)

    study, threads = cell(BOTH, terms)
    assert threads.machine is not None
    assert threads.sharing is not None
    assert threads.machine.point == pytest.approx(2e-6, rel=0.25)
    assert threads.sharing.point == pytest.approx(3e-6, rel=0.25)
    assert threads.largest is not None
    assert threads.largest.name == "blocked"
    assert "As many processes lose" in said(study, threads)
    assert cell(BOTH, terms, "processes")[1].machine is None


def test_processes_of_another_arm_lose_in_proportion() -> None:
    """Their operation takes three times as long, and half as long again at N = 2."""

    def terms(arm: str, model: str, n: int) -> Terms:
        if arm == "3.14":
            return {"user": 90_000.0 * (1.5 if n > 1 else 1)} if model == "processes" else {}
        return {"user": 30_000.0 * (2 if n > 1 else 1)} if model == "threads" else {}

    study = replace(BOTH, terms=terms, arms=("3.14", "3.14t"), terms_noise=0.0).study
    for measure in (MACHINE, SHARING):
        found = one(study.estimates, measure=measure, arm="3.14t", model="threads")
        assert found["point"] == pytest.approx(15e-6)


def test_calls_that_cannot_be_sampled_are_one_term() -> None:
    def terms(arm: str, model: str, n: int) -> Terms:
        unknown = {"blocked": float("nan"), "rest": float("nan")} if n > 1 else {"blocked": 500.0}
        return {**plus(idle=9_000.0 * (n - 1)), **unknown}

    study, found = cell(TWO, terms)
    assert merged(study.measures)[found.place]
    assert {term.name for term in TERMS} - {term.name for term in found.losses} == {
        "blocked",
        "rest",
    }
    assert found.largest == IDLE
    assert found.losses[IDLE].point == pytest.approx(8.5e-6, rel=0.1)
    assert sum(each.point for each in found.losses.values()) == pytest.approx(found.whole.point)
    assert "Calls could not be sampled: idle has what is blocked" in said(study, found)


def test_in_an_open_loop_there_is_no_efficiency() -> None:
    """Throughput is the schedule's: workers that have less to do are idle, and lose nothing."""
    study = FakeServedStudy(
        configurations=(("3.14t", "threads"),),
        rates=(200.0,),
        terms=losing(idle=30_000.0, user=2_000.0),
    ).study
    (found,) = lost(study)
    assert (found.efficiency, found.largest, found.factors) == (None, None, {})
    assert "throughput is the schedule's" in said(study, found)
    assert record(study, found)["factors"]["efficiency"] is None


def test_a_cell_without_readings_has_no_losses() -> None:
    study = replace(
        FakeStudy(arms=("3.14t", "3.14"), workers=(1, 2), ticks=2),
        terms=lambda arm, model, n: {} if arm == "3.14" else IDEAL,
    ).study
    assert [each.cell["arm"] for each in lost(study)] == ["3.14t"]


def test_the_csv_file_has_the_same_figures() -> None:
    study = FakeStudy(blocks=7, ticks=2, terms=losing(system=4_000.0)).study
    rows = losses(study).set_index(["workers", "term"])
    for each in lost(study):
        assert each.largest is not None
        assert each.largest.name == "system"
        for name, known in {
            **{t.name: v for t, v in each.losses.items()},
            "all": each.whole,
        }.items():
            row = rows.loc[(each.cell["workers"], name)]
            assert row["loss_ns"] * NS == pytest.approx(known.point)
        for term, known in each.factors.items():
            row = rows.loc[(each.cell["workers"], term.name)]
            assert row["factor_low"] == pytest.approx(known.low)
