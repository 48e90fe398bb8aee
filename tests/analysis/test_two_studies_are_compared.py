"""Two studies: each cell of both over itself, unpaired; what else differs is said beside."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scaling.analysis.tables.across import across, differences_of
from scaling.analysis.tables.ratios import OTHER_STUDY
from scaling.base.console import new_console
from scaling.base.errors import UsageError
from scaling.journal.record import RunLine
from scaling.report.compare import about_two, compare
from scaling.study.questions import CPU, MEMORY, P99, THROUGHPUT
from tests.support.printing import printed_by
from tests.support.runs import changing, keeping_memory, throttled
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import FakeStudy, one, where

STUDY = FakeStudy()


def about(now: FakeStudy, then: FakeStudy) -> str:
    return " ".join(about_two(now.study, then.study))


def test_each_cell_of_both_is_over_itself() -> None:
    speeds = {("3.14t", "threads", n): float(n) for n in (1, 2, 4)}
    quick: Mapping[Any, float] = {place: 1.2 * speed for place, speed in speeds.items()}
    then = FakeStudy(speeds=speeds, blocks=8)
    now = FakeStudy(speeds=quick, blocks=8, seed=2, workers=(1, 2), arms=("3.14t", "3.14"))
    found = across(now.study, then.study)
    rates = where(found, measure=THROUGHPUT)
    assert rates["workers"].tolist() == [1, 2]
    assert rates["ratio"].tolist() == pytest.approx([1.2, 1.2], rel=0.03)
    assert set(rates["word"]) == {"faster"}
    assert set(where(found, measure=CPU)["word"]) == {"less"}
    assert set(where(found, measure=MEMORY)["word"]) == {"same"}
    assert set(found["why_not_in_turn"]) == {OTHER_STUDY}
    told = about(now, then)
    assert "were not measured side by side" in told
    assert "Only in OLD, and not compared: 1 cell." in told
    assert "Only in RESULTS, and not compared: 2 cells." in told
    # The margin is the study's.
    wider = across(replace(now, margin=0.1, noise=0.002).study, then.study)
    little = across(replace(now, margin=0.1, speeds=then.speeds).study, then.study)
    assert set(where(wider, measure=THROUGHPUT)["word"]) == {"faster"}
    assert set(where(little, measure=THROUGHPUT)["word"]) == {"same"}


def test_a_cell_without_a_valid_run_on_one_side_has_no_ratio() -> None:
    def invalid(run: RunLine) -> RunLine:
        return throttled(run) if run.cell.workers == 2 else run

    lacking = replace(STUDY, change=invalid)
    for now, then in ((STUDY, lacking), (lacking, STUDY)):
        rates = where(across(now.study, then.study), measure=THROUGHPUT)
        assert rates["workers"].tolist() == [1, 4]


def test_memory_of_two_kinds_has_no_ratio() -> None:
    now = FakeStudy(models=("processes",), blocks=1)
    then = replace(now, change=changing(memory__pss_bytes=None))
    assert set(across(now.study, then.study)["measure"]) == {THROUGHPUT, CPU}
    assert "Memory is not compared where one study has PSS" in about(now, then)


def test_what_is_not_the_same_in_both_is_said() -> None:
    then = FakeStudy(arms=("3.14",), workers=(1, 2), blocks=1)
    assert differences_of(then.study, then.study) == ()
    other = replace(then, logical=4, head={"pins": "other"}, options={"window_s": 5.0})
    told = about(replace(other, change=keeping_memory), then)
    assert "the machine (logical_cpus, usable_cpus)" in told
    assert "the pinned packages" in told
    assert "the study (window_s)" in told
    assert "In another allocator state than in OLD: 2 cells." in told
    for began, is_warned in (("2026-11-20T19:00:00Z", True), ("2026", False)):
        told = about(then, replace(then, head={"started_at": began}))
        assert ("are the two swapped?" in told) is is_warned


def test_what_changes_no_cell_is_no_difference() -> None:
    def differences(now: dict[str, Any], then: dict[str, Any]) -> tuple[str, ...]:
        studies = (replace(STUDY, options=options).study for options in (now, then))
        return differences_of(*studies)

    entry = {"name": "echo", "sizing": ["weak"], "workers": [1, 2]}
    more = {"name": "echo", "sizing": ["weak", "strong"], "workers": [1, 2, 4]}
    other = {"workers": [1], "models": ["processes"], "loops": ["uvloop"]}
    assert differences(
        other | {"workloads": [entry | {"workers": [1]}]},
        {"workers": [1, 2], "models": ["threads"], "workloads": [entry]},
    ) == ()  # fmt: skip
    assert differences({"aa_pairs": True}, {"aa_pairs": False}) == ()
    strong = {"sizing": ["strong"], "workloads": [more]}
    fewer = {"workloads": [more | {"workers": [1, 2]}]}
    assert differences(strong, fewer) == ("the study (workers)",)


ONE = (("3.14t", "threads"),)
OPEN = FakeServedStudy(configurations=ONE, workers=(1, 2), rates=(500.0,), blocks=6, window_s=5.0)


def test_a_lower_bound_over_a_latency_is_longer_by_at_least_so_much_and_two_have_no_ratio() -> None:
    """What is known of a server that fell behind is not dropped."""
    slow = replace(OPEN, answers_per_s={ONE[0]: 300.0})
    for now, then, word in ((slow, OPEN, "longer"), (OPEN, slow, "shorter")):
        row = one(across(now.study, then.study), measure=P99, workers=1)
        assert (row["n"], row["word"]) == (6, word)
        assert row["said"].startswith("at least ")
    assert where(across(slow.study, slow.study), measure=P99)["workers"].tolist() == [2]


def test_void_studies_are_said_to_be_void_and_none_is_named_twice(tmp_path: Path) -> None:
    """Studies are called by their folders, with the folder above where that is the same."""
    speeds = {("3.14t", "threads", n): 1.0 for n in (1, 2)}
    variants = {"compute": [{"iterations": 1000}]}
    void = FakeStudy(variants=variants, speeds=speeds, workers=(1, 2), blocks=2)
    for machine in ("here", "there"):
        void.write(tmp_path / machine / "study")
    out, both = tmp_path / "out", [tmp_path / "here/study", tmp_path / "there/study"]
    text = printed_by(lambda console: compare(both, out, console))
    assert text.startswith("here-study: VOID: the controls fail")
    assert "there-study: VOID" in text
    assert (out / "comparison.md").read_text().startswith("# here-study and there-study\n\n**here")
    with pytest.raises(UsageError, match="named twice"):
        compare([both[0], both[0] / "journal.jsonl"], None, new_console(quiet=True))
    FakeStudy(workers=(1,), blocks=1).write(tmp_path)
    text = printed_by(lambda console: compare([tmp_path], None, console))
    assert text.startswith("Nothing to compare: the study has one arm, one model and one loop")
