"""What a fault does to requests is computed from each of them, and shown on page and as JSON."""

import json
from pathlib import Path

import pytest

from scaling.journal.beside import FAULTS, FaultRecord, read_faults, write_faults
from scaling.report.application import application_json
from scaling.report.page.render import page
from scaling.run.app_faults import record
from scaling.run.deployed import Deployed, Sent
from tests.support.applications import application_study, results_of

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
    path = application_study(tmp_path, speeds={}, blocks=2)
    assert "Faults, N = 2" not in page(results_of(path))
    folder = results_of(path).path
    assert folder
    fault = found([Sent("a", 10.1, 10.2, "answered"), Sent("b", 10.1, 10.15, "lost")], "a")
    write_faults(folder.parent, [fault])
    assert read_faults(folder.parent) == [fault]
    assert "Faults, N = 2, at 100/s" in page(results_of(path))
    (shown,) = json.loads(application_json(results_of(path)))["faults"]
    assert (shown["fault"], shown["lost"], shown["own_max_ms"]) == ("a fault", 1, 100.0)
    (folder.parent / FAULTS).write_text("[torn")
    assert read_faults(folder.parent) == []
