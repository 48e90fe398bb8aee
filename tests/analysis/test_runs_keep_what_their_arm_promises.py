"""A run is judged by what its arm promised: what was read back of its processes must be that."""

from dataclasses import replace
from pathlib import Path

import pytest

import scaling
from scaling.journal.record import ReadBack, RunLine, Switch
from tests.support.runs import changing, with_
from tests.support.studies import FakeStudy, arm

ONE = FakeStudy(workers=(1,), blocks=1)
SWITCHED = replace(ONE, arms=("3.14+io-uring", "3.14t+new-scheduler"))


def test_a_switch_that_was_lost_makes_a_run_invalid() -> None:
    assert {row["validity"] for row in SWITCHED.rows} == {"valid"}
    lost = Switch(name="asyncio.events._USE_NEW_SCHEDULER", value=False, was_there=True)
    rows = replace(SWITCHED, change=changing(record__process__switches=(lost,))).rows
    assert {(row["validity"], *row["reasons"]) for row in rows} == {("invalid", "settings-lost")}
    assert {row["details"] for row in rows} == {
        ("PYTHONASYNCIOUSEIOURING: not read back, the arm asks for 1",),
        ("asyncio.events._USE_NEW_SCHEDULER: off, the arm asks for on",),
    }
    rare = replace(ONE, arms=("3.14t+gc50k",))
    for found, said in (
        (2_000, ("threshold of the collector: 2,000, the arm asks for 50,000",)),
        (0, ("threshold of the collector: 0, the arm asks for 50,000",)),
        (None, ("threshold of the collector: not read back, the arm asks for 50,000",)),
        (50_000, ()),
    ):
        changed = replace(rare, change=changing(record__process__gc_threshold=found))
        assert changed.row["details"] == said


def test_a_journal_from_before_there_were_switches_is_read(tmp_path: Path) -> None:
    path = ONE.write(tmp_path)
    text = path.read_text()
    assert '"switches":[],' in text
    path.write_text(text.replace('"switches":[],', ""))
    assert scaling.load(path)["valid"].all()


def test_only_the_process_at_fault_is_named_among_many() -> None:
    """Processes that report the same are judged once, whichever runs they are of."""

    def change(run: RunLine) -> RunLine:
        if run.block != 1:
            return run
        first, *others = run.record.workers if run.record else []
        wrong = with_(first, process__gc_threshold=7, process__gc_enabled=False)
        other = [with_(each, process__allocator="malloc") for each in others]
        return with_(run, record__workers=[wrong, *other])

    rows = FakeStudy(models=("processes",), workers=(2,), change=change).rows
    found = {row["block"]: row["details"] for row in rows}
    assert found == {0: (), 1: ("garbage collector: off, the arm asks for on",), 2: ()}


@pytest.mark.parametrize("settings", [[], ["jit"]])
def test_an_arm_is_judged_by_what_it_promised_when_it_was_measured(settings: list[str]) -> None:
    """Also one with a setting that this version does not have, or that means something else now."""
    promised = ReadBack(gil_enabled=False, allocator="jemalloc", gc_enabled=True)
    made = with_(arm("3.14t"), settings=settings, expected=promised)
    study = replace(ONE, head={"arms": {"3.14t": made}})
    assert study.row["details"] == ("allocator: mimalloc, the arm asks for jemalloc",)
    assert replace(study, change=changing(record__process__allocator="jemalloc")).row["valid"]


def test_a_run_of_an_arm_that_the_study_does_not_have_is_invalid() -> None:
    row = replace(ONE, head={"arms": {}}).row
    assert row["reasons"] == ("settings-lost",)
    assert row["details"] == ("the arm 3.14t is not one of the study",)
