"""Each remedy is measured against none; a control that helps is flagged; each has a source."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as with_
from rich.console import Console

from scaling.base.errors import UsageError
from scaling.builds.arms import parse_arm
from scaling.builds.settings import REMEDIES, SETTINGS
from scaling.cli import app_steps
from scaling.journal.record import Cell
from scaling.report.view.notes import controls_that_help
from scaling.report.view.tables import SETTINGS as SETTINGS_TABLE
from scaling.report.view.view import view_of
from scaling.run.prepare import ChildNeeds
from scaling.study.app_options import AppAsked
from scaling.study.definition import Options
from scaling.study.file import load_study_file
from scaling.study.plan.groups import Edge, Room, groups
from scaling.study.plan.order import Slot
from scaling.study.questions import THROUGHPUT
from scaling.study.remedies import remedies_of, remedies_of_application
from tests.support.cli import Command
from tests.support.studies import FakeStudy, with_settings

BASE = "3.14t"
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


def fits(name: str) -> bool:
    try:
        parse_arm(f"{BASE}+{name}")
    except UsageError:
        return False
    return True


def test_every_remedy_has_a_source_a_proof_and_a_way_to_have_it(command: Command) -> None:
    text = command("remedies", "--list").stdout
    for name in REMEDIES:
        setting = SETTINGS[name]
        assert setting.source.startswith("https://"), name
        assert f"{name}: " in text
        assert setting.source in text
        assert setting.summary, name
        assert setting.reads_back or setting.switches, name
        assert setting.environment or setting.preload or setting.lines or setting.control, name
    assert "    export MIMALLOC_PURGE_DELAY=-1\n" in text
    assert "_SelectorSocketTransport.max_size = 65_536\n" in text
    # The study has every one that fits its build. Names of arms that journals have stay.
    arms = load_study_file("remedies").values["arms"]
    assert list(arms) == [BASE, *(f"{BASE}+{name}" for name in REMEDIES if fits(name))]
    first = ("gil", "mimalloc", "io-uring", "new-scheduler", "nogc", "gc50k")
    assert tuple(SETTINGS)[: len(first)] == first


def test_the_answer_is_each_setting_over_none_and_a_control_that_helps_puts_it_in_doubt() -> None:
    study = helping().study
    assert view_of(study).answer == (SETTINGS_TABLE,)
    rows = study.ratios.query(f"question == 'setting' and measure == {THROUGHPUT!r} and headline")
    found = dict(zip(rows["arm"].str.partition("+")[2], rows["ratio"], strict=True))
    assert found == pytest.approx(FACTORS, rel=0.01)
    assert controls_that_help(study) == ""
    assert controls_that_help(helping(tlbc0=1.4).study).startswith("In doubt: 3.14t+tlbc0 ")


@pytest.mark.usefixtures("machine_with_nothing")
@pytest.mark.parametrize(
    ("arm", "reason"),
    [
        ("3.14+jemalloc", "apt-get install libjemalloc2"),
        ("3.14t+switch500us", "3.14t has no GIL to hand over"),
        ("3.14t+jemalloc", "3.14t takes all its objects from mimalloc"),
        ("3.14t+immortal-data", "3.14t has no public interface to make objects immortal"),
        ("3.15t+immortal-data", "PyUnstable_SetImmortal is for C code that makes an object"),
    ],
)
def test_a_remedy_of_another_build_is_refused_with_the_reason(arm: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        parse_arm(arm)


GTHREAD = {"workload": "app", "parameters": {"server": "gunicorn-gthread"}}
STATE = {"workload": "state"}


@pytest.mark.parametrize(
    ("name", "place", "reason"),
    [
        ("recv64k", {"loop": "uvloop"}, "recv64k: it is an attribute of asyncio's transport"),
        ("recv64k", {"parameters": {"api": "buffered"}}, "recv64k: the protocol brings its own"),
        ("buffered", {"workload": "compute"}, "buffered is for the workload echo"),
        ("own-code", {"model": "processes"}, "own-code: only workers in threads share code"),
        ("own-ssl", {}, "own-ssl: no SSLContext is shared here"),
        ("eager", {"loop": "trio"}, "eager: trio makes its tasks itself"),
        ("recv64k", GTHREAD, "recv64k: there is no loop"),
        ("gcfreeze", GTHREAD, "gcfreeze: a server of WSGI does not say"),
        ("own-app", GTHREAD, "own-app: it is for our own server"),
        ("columns", STATE | {"parameters": {"kind": "array"}}, "the state is in columns already"),
        ("own-data", STATE | {"parameters": {"made_by": "loop"}}, "each loop has a copy of its"),
        ("own-data", {}, "is for the workloads state, state-pass and serve-state"),
        ("deferred-data", STATE | {"parameters": {"kind": "strings"}}, "the collector does not"),
        ("own-code", STATE, "the workload is about what is shared"),
    ],
)
def test_a_place_without_use_for_it_says_why(name: str, place: dict[str, Any], reason: str) -> None:
    assert reason in str(parse_arm(f"{BASE}+{name}").unfit(with_(ECHO, **place)))


def test_the_study_of_an_application_has_a_peak_and_half_of_it() -> None:
    asked = AppAsked(application="shop.main:app")
    for each, server in ((asked, "loops"), (replace(asked, interface="wsgi"), "gunicorn-gthread")):
        study = remedies_of_application(each)
        assert study.values["name"] == "remedies-app-shop.main"
        assert [entry.parameters["rate_per_s"] for entry in study.workloads] == [0.0, "50%"]
        assert {entry.parameters["server"] for entry in study.workloads} == {server}
    assert remedies_of(["shop.load:Mine"]).values["name"] == "remedies-shop.load-Mine"


@pytest.mark.parametrize(
    ("arms", "builds"),
    [({}, ["3.14t"]), ({"arms": ("3.15t", "3.15t+eager", "3.14")}, ["3.15t"])],
)
def test_what_an_application_requires_is_examined_on_the_builds_that_are_measured(
    arms: dict[str, Any], builds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    examined: list[str] = []
    monkeypatch.setattr(app_steps, "say_what_blocks", lambda *asked: examined.append(asked[2]))
    app_steps.AppSteps(
        asked=AppAsked(application="shop.main:app", interface="wsgi"),
        needs=ChildNeeds(requirements=["lxml"]),
        options=Options(said=arms),
        requests=[],
        console=Console(),
        errors=Console(),
        study_of=remedies_of_application,
    ).known()
    assert examined == builds


def test_all_remedies_are_in_turn_with_none() -> None:
    """And so are the second cells of two A/A pairs."""
    fit = [
        name for name in REMEDIES if fits(name) and parse_arm(f"{BASE}+{name}").unfit(ECHO) is None
    ]
    arms = [with_(ECHO, arm=f"{BASE}+{name}") for name in fit]
    slots = [*map(Slot, arms), Slot(ECHO, 1), Slot(arms[0], 1)]
    (together,) = groups(
        [Slot(ECHO), *slots], [Edge(each, Slot(ECHO)) for each in slots], {}, Room()
    )
    assert len(together.slots) == 1 + len(slots)
