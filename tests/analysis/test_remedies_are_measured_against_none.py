"""Each remedy is measured against none; a control that helps is flagged; lines can be pasted."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

import scaling
from scaling.analysis.remedies import Found, Remedies, remedies_in
from scaling.base.errors import UsageError
from scaling.builds.arms import parse_arm
from scaling.builds.settings import REMEDIES, SETTINGS
from scaling.journal.record import Cell, RunLine
from scaling.report.page.answer import answer_block
from scaling.report.remedies import listing, print_remedies, remedies_json
from scaling.study.definition import WorkloadEntry
from scaling.study.plan.groups import groups
from scaling.study.remedies import LeftOut, best_together, reason_against, remedies_study
from tests.support.printing import printed_by
from tests.support.runs import with_
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import FakeStudy, with_settings

BASE = "3.14t"
ARMS = (BASE, "3.14t+recv64k", "3.14t+nogc", "3.14t+gc50k", "3.14t+eager", "3.14t+tlbc0")
FACTORS = {"recv64k": 1.3, "nogc": 1.2, "gc50k": 1.15, "eager": 1.0, "tlbc0": 0.8}
ECHO = Cell(
    workload="echo",
    parameters={"api": "protocol"},
    model="threads",
    loop="asyncio",
    arm=BASE,
    workers=2,
)


def helping(**factors: float) -> FakeStudy:
    """Remedies that do so much more than none at N = 1 and N = 2."""
    return with_settings(FACTORS | factors, aa_pairs=True)


HELPING = helping()


def remedies(study: FakeStudy = HELPING) -> Remedies:
    return remedies_in(study.results, [BASE])


def found(*best: str, study: FakeStudy = HELPING) -> Found:
    left_out = [LeftOut("jemalloc", BASE, "no library")]
    return Found(alone=remedies(study), together=None, best=best, left_out=left_out)


def shown(what: Found) -> str:
    return printed_by(lambda console: print_remedies(what, console))


def test_every_remedy_has_a_source_a_proof_and_a_way_to_have_it() -> None:
    text = "\n".join(listing())
    for name in REMEDIES:
        setting = SETTINGS[name]
        assert setting.source.startswith("https://"), name
        assert f"{name}: " in text
        assert setting.source in text
        assert setting.summary, name
        assert setting.reads_back or setting.switches, name
        assert setting.environment or setting.preload or setting.lines or setting.control, name
    controls = [name for name, each in SETTINGS.items() if each.control]
    assert controls == ["tlbc0", "deferred", "deferred-data"]


def test_names_of_arms_that_journals_have_stay() -> None:
    first = ("gil", "mimalloc", "io-uring", "new-scheduler", "nogc", "gc50k")
    assert tuple(SETTINGS)[: len(first)] == first


@pytest.mark.usefixtures("unrendered")
def test_the_page_begins_with_what_each_brings() -> None:
    block, _ = answer_block(HELPING.results)
    (words,) = block.words
    assert words.startswith(
        "echo · weak sizing · asyncio, 2 threads on 3.14t: throughput is higher"
    )
    (grid,) = block.figures[0].grids
    rows = [row[0] for row in grid.rows]
    assert (rows[0], rows[-1]) == ("+recv64k", "+tlbc0 (control)")


def test_a_remedy_of_another_build_is_left_out_with_the_reason() -> None:
    assert reason_against("switch500us", BASE, ECHO) == "3.14t has no GIL to hand over"
    jemalloc = reason_against("jemalloc", BASE, ECHO)
    assert str(jemalloc).startswith("3.14t takes all its objects from mimalloc")
    assert reason_against("inherit0", "3.14", ECHO) == "3.14 has the flag off already"
    assert reason_against("nogc", "3.14t+nogc", ECHO) == "the arm has it already"


@pytest.mark.usefixtures("machine_with_nothing")
def test_a_library_that_is_not_there_names_the_package() -> None:
    with pytest.raises(UsageError, match="apt-get install libjemalloc2"):
        parse_arm("3.14+jemalloc")


@pytest.mark.parametrize(
    ("name", "place", "reason"),
    [
        ("recv64k", {"loop": "uvloop"}, "recv64k: it is an attribute of asyncio's transport"),
        ("recv64k", {"parameters": {"api": "buffered"}}, "recv64k: the protocol brings its own"),
        ("buffered", {"workload": "compute"}, "buffered: it is for workload echo"),
        ("uvloop", {"loop": "rloop"}, "uvloop: it takes the place of asyncio, not of rloop"),
        ("own-code", {"model": "processes"}, "own-code: only workers in threads share code"),
        ("own-app", {}, "own-app: it is for workload app"),
        ("own-ssl", {}, "own-ssl: no SSLContext is shared here"),
        ("eager", {"loop": "trio"}, "eager: trio makes its tasks itself"),
        *(
            (name, {"workload": "app", "parameters": {"server": "gunicorn-gthread"}}, reason)
            for name, reason in {
                "recv64k": "recv64k: there is no loop",
                "uvloop": "uvloop: there is no loop",
                "eager": "eager: there is no loop",
                "gcfreeze": "gcfreeze: a server of WSGI does not say",
                "own-code": "own-code: it is for our own server",
                "own-app": "own-app: it is for our own server",
            }.items()
        ),
        ("recv64k+uvloop", {}, "recv64k: it is an attribute of asyncio's transport"),
        ("recv64k+buffered", {}, "recv64k: the protocol brings its own buffer"),
    ],
)
def test_a_place_without_use_for_it_says_why(name: str, place: dict[str, Any], reason: str) -> None:
    assert str(parse_arm(f"{BASE}+{name}").unfit(ECHO.but(**place))).startswith(reason)


def test_the_study_has_none_and_each_alone_and_a_rate_where_it_is_served() -> None:
    entry = WorkloadEntry(name="serve")
    added = {BASE: [("nogc",), ("eager", "recv64k")]}
    study = remedies_study(entry, added, (1, 2), "remedies-serve", served=True)
    assert study.values["arms"] == (BASE, "3.14t+nogc", "3.14t+recv64k+eager")
    assert study.values["workers"] == (1, 2)
    peak, at_rate = study.workloads
    assert (peak.parameters, peak.workers) == ({"rate_per_s": 0.0}, (1, 2))
    assert (at_rate.parameters, at_rate.workers) == ({"rate_per_s": "50%"}, (2,))


def test_all_remedies_are_in_turn_with_none() -> None:
    """And so are the second cells of two A/A pairs."""
    fit = [name for name in REMEDIES if reason_against(name, BASE, ECHO) is None]
    arms = [ECHO.but(arm=f"{BASE}+{name}") for name in fit]
    cells = [*arms, ECHO.but(twin=True), arms[0].but(twin=True)]
    (together,) = groups([ECHO, *cells], [(each, ECHO) for each in cells])
    assert len(together) == 1 + len(cells)


def test_each_factor_is_over_the_arm_without_it() -> None:
    measured = remedies()
    at_two = {"+".join(each.added): each.ratio.point for each in measured.throughput()}
    assert at_two == pytest.approx(FACTORS, rel=0.01)
    figures = {each.ratio.figure for each in measured.factors}
    assert figures == {"throughput", "cpu_s_per_op", "memory"}
    assert {each.ratio.of.workers for each in measured.factors} == {1, 2}
    primary = [each for each in measured.factors if each.ratio.verdict.family == "primary"]
    assert len(primary) == len(FACTORS)
    assert {(each.ratio.figure, each.ratio.of.workers) for each in primary} == {("throughput", 2)}


def test_what_is_proven_to_help_wins_and_no_control_does() -> None:
    study = helping(tlbc0=1.4)
    measured = remedies(study)
    assert measured.winners(BASE) == ["recv64k", "nogc", "gc50k"]
    assert [each.added for each in measured.suspicious] == [("tlbc0",), ("tlbc0",)]
    assert "IN DOUBT: tlbc0 is a control that must not help" in shown(found(study=study))


def test_a_remedy_without_a_valid_run_says_why() -> None:
    def without_it(run: RunLine) -> RunLine:
        return with_(run, record__process__switches=()) if "recv64k" in run.cell.arm else run

    arms = (BASE, "3.14t+recv64k", "3.14t+nogc")
    measured = remedies(FakeStudy(arms=arms, workers=(2,), blocks=6, change=without_it))
    assert {each.ratio.of.arm for each in measured.factors} == {"3.14t+nogc"}
    (fault,) = measured.unmeasured.values()
    assert "max_size: not read back, the arm asks for 65536" in fault
    text = shown(Found(alone=measured, together=None, best=(), left_out=[]))
    assert fault in " ".join(text.split())


def test_p99_stands_beside_the_figures_of_the_closed_loop() -> None:
    with_remedy = "3.14t+nogc", "threads"
    measured = remedies(
        FakeServedStudy(
            configurations=((BASE, "threads"), with_remedy),
            answers_per_s={(BASE, "threads"): 500.0, with_remedy: 1000.0},
            workers=(2,),
            rates=(0.0, 400.0),
            blocks=8,
        )
    )
    figures = {each.ratio.figure: each.ratio.verdict.word for each in measured.factors}
    assert figures["latency_p99_s"] == "faster"
    assert {"throughput", "cpu_s_per_op", "memory"} < set(figures)
    assert len({each.subject for each in measured.factors}) == 1
    assert "P99" in shown(Found(alone=measured, together=None, best=(), left_out=[]))


def test_of_remedies_in_place_of_each_other_the_best_is_taken() -> None:
    assert best_together(BASE, ["recv64k", "nogc", "gc50k", "eager"], ECHO) == (
        *("recv64k", "nogc", "eager"),
    )
    assert best_together(BASE, ["uvloop", "recv64k", "eager"], ECHO) == ("uvloop", "eager")
    assert best_together(BASE, ["tlbc0"], ECHO) == ()


def test_it_ends_with_the_lines_to_paste() -> None:
    text = shown(found("recv64k", "nopurge"))
    assert "jemalloc (3.14t): no library" in text
    assert "\nLines to paste for recv64k and nopurge:\n" in text
    assert "\nexport MIMALLOC_PURGE_DELAY=-1\n" in text
    assert text.endswith("_SelectorSocketTransport.max_size = 65_536\n")
    table, _, _ = text.partition("Not measured:")
    assert re.search(r"^recv64k +.*1\.30 ", table, re.MULTILINE)
    assert "faster" in table
    assert shown(found()).endswith("there is nothing to paste.\n")


def test_the_object_has_every_factor_with_its_interval() -> None:
    document = json.loads(remedies_json(found("recv64k")))
    first = document["factors"][0]
    assert {"remedy", "workers", "measure", "ratio", "low", "high", "verdict"} <= set(first)
    assert all(each["low"] <= each["ratio"] <= each["high"] for each in document["factors"])
    assert document["left_out"] == [{"remedy": "jemalloc", "arm": BASE, "reason": "no library"}]
    assert document["paste"]["python"][0] == "import asyncio.selector_events"


def test_a_table_has_a_row_for_each_figure() -> None:
    rows = scaling.remedies(replace(HELPING, arms=ARMS[:3], aa_pairs=False).results, BASE)
    assert set(rows["remedy"]) == {"recv64k", "nogc"}
    assert len(rows) == 2 * 2 * 3  # remedies, Ns, figures
    assert (rows["low"] <= rows["ratio"]).all()
    assert (rows["ratio"] <= rows["high"]).all()


@pytest.mark.parametrize(
    ("arm", "reason"),
    [
        ("3.14t", "3.14t has no public interface to make objects immortal"),
        ("3.15t", "PyUnstable_SetImmortal is for C code that makes an object"),
    ],
)
def test_immortal_objects_are_refused_with_what_would_be_needed(arm: str, reason: str) -> None:
    assert str(reason_against("immortal-data", arm, ECHO)).startswith(reason)


@pytest.mark.parametrize(
    ("arm", "model", "parameters", "reason"),
    [
        ("3.14t+columns", "threads", {"kind": "array"}, "the state is in columns already"),
        ("3.14t+own-data", "threads", {"made_by": "loop"}, "each loop has a copy of its own"),
        ("3.14t+own-data", "processes", {}, "each worker of this model has a copy"),
        ("3.14t+deferred-data", "threads", {"kind": "strings"}, "the collector does not track"),
        ("3.14t+deferred-data", "forked", {}, "only workers in threads"),
        ("3.14t+own-code", "threads", {}, "the workload is about what is shared"),
    ],
)
def test_what_changes_nothing_about_the_state_is_refused(
    arm: str, model: str, parameters: dict[str, object], reason: str
) -> None:
    state = ECHO.but(workload="state", parameters=parameters, model=model)
    assert reason in (parse_arm(arm).unfit(state) or "")
    if not arm.endswith("own-code"):
        assert "it is for workloads state, state-pass and serve-state" in (
            parse_arm(arm).unfit(ECHO) or ""
        )
