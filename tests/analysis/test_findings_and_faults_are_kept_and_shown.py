"""What check and faults of an application found is beside its journal and in all made of it."""

import json
from pathlib import Path

import msgspec
import pytest

from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import read_journal
from scaling.base.console import new_console
from scaling.base.errors import ScalingError
from scaling.journal.beside import CHECK_FILE, FAULTS_FILE, AppCheck, FaultRecord, Finding
from scaling.report.application import application_json
from scaling.report.page.render import page
from scaling.report.publish import publish
from scaling.report.terminal.app_answer import app_lines
from scaling.run.deployed import Deployed, Sent
from scaling.run.faults_and_soak import record
from tests.support.served_studies import FakeAppStudy

SOUND = AppCheck(ok=True, findings=[])
MIXED_UP = Finding(
    kind="mixed-up", request="GET /stock", message="an answer is another's", remedy="no global"
)
UNSAFE = AppCheck(ok=False, findings=[MIXED_UP])


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return FakeAppStudy(blocks=2).write(tmp_path_factory.mktemp("checked"))


def results_of(path: Path) -> StudyResults:
    return StudyResults.of(read_journal(path))


def answer_of(path: Path) -> str:
    return "\n".join(app_lines(results_of(path)))


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_findings_are_in_page_json_and_answer(study: Path) -> None:
    CHECK_FILE.write(study.parent, UNSAFE)
    shown = page(results_of(study))
    assert "What is wrong on several loops" in shown
    assert "no global" in shown
    assert json.loads(application_json(results_of(study)))["check"] == {
        "ok": False,
        "findings": [
            {
                "kind": "mixed-up",
                "request": "GET /stock",
                "message": "an answer is another's",
                "remedy": "no global",
            }
        ],
    }
    assert "Check: 1 finding on several loops (mixed-up)." in answer_of(study)


@pytest.mark.usefixtures("unrendered")
def test_a_sound_application_is_said_to_be(study: Path) -> None:
    CHECK_FILE.write(study.parent, SOUND)
    assert "What is wrong on several loops" not in page(results_of(study))
    assert "Check: its answers are the same" in answer_of(study)


def test_without_a_check_nothing_is_claimed(study: Path) -> None:
    (study.parent / CHECK_FILE.name).write_text("[torn")
    assert CHECK_FILE.read(study.parent) is None
    assert json.loads(application_json(results_of(study)))["check"] is None
    assert "Check:" not in answer_of(study)


@pytest.mark.usefixtures("undrawn")
def test_findings_are_published_with_the_journal(study: Path, tmp_path: Path) -> None:
    CHECK_FILE.write(study.parent, UNSAFE)
    publish(study, tmp_path / "published", new_console())
    assert CHECK_FILE.read(tmp_path / "published") == UNSAFE
    told = msgspec.structs.replace(MIXED_UP, message="/home/me/shop.py raises")
    CHECK_FILE.write(study.parent, AppCheck(ok=False, findings=[told]))
    with pytest.raises(ScalingError, match=r"check\.json"):
        publish(study, tmp_path / "published", new_console())


# --- faults --------------------------------------------------------------------------------------

THREADS = Deployed("3.14t", "threads", "serve.py", (), {})


def found(sent: list[Sent], blocked: str = "") -> FaultRecord:
    return record(THREADS, "a fault", sent, blocked, failed_s=10.0, rate_per_s=100.0)


def test_the_loop_that_is_blocked_is_apart_from_the_others() -> None:
    due = [9.0, 10.2, 10.5, 12.0]
    waiting = [
        Sent("a", each, max(each, 11.0) if each > 10 else each + 2.0, "answered") for each in due
    ]
    others = [Sent("b", each, each + 0.002, "answered") for each in due]
    fault = found([*waiting, *others], blocked="a")
    assert fault.own_max_ms == pytest.approx(800)
    assert fault.others_max_ms == pytest.approx(2)
    assert (fault.lost, fault.refused, fault.back_s) == (0, 0, None)


def test_requests_without_an_answer_are_counted_until_there_are_answers_again() -> None:
    fault = found(
        [
            Sent("a", 9.9, 9.91, "answered"),
            Sent("a", 10.0, 10.01, "lost"),
            Sent("", 10.1, 10.11, "refused"),
            Sent("c", 10.3, 10.32, "answered"),
        ]
    )
    assert (fault.requests, fault.lost, fault.refused) == (4, 1, 1)
    assert fault.back_s == pytest.approx(0.32)


def test_a_server_that_never_answers_again_has_no_time() -> None:
    fault = found([Sent("a", 9.9, 9.91, "answered"), Sent("", 10.1, 10.11, "refused")])
    assert fault.back_s is None


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_page_and_json_have_what_is_beside_the_journal(tmp_path: Path) -> None:
    path = FakeAppStudy(blocks=2).write(tmp_path)
    fault = found([Sent("a", 10.1, 10.2, "answered"), Sent("b", 10.1, 10.15, "lost")], "a")
    FAULTS_FILE.write(path.parent, [fault])
    assert FAULTS_FILE.read(path.parent) == [fault]
    assert "Faults, N = 2, at 100/s" in page(results_of(path))
    (shown,) = json.loads(application_json(results_of(path)))["faults"]
    assert (shown["fault"], shown["lost"], shown["own_max_ms"]) == ("a fault", 1, 100.0)
    (path.parent / FAULTS_FILE.name).write_text("[torn")
    assert FAULTS_FILE.read(path.parent) == []
