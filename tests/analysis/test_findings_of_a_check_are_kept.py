"""What the check of an application found is beside its journal, and in everything made of it."""

import json
from pathlib import Path

import msgspec
import pytest

from scaling.base.console import new_console
from scaling.base.errors import ScalingError
from scaling.journal.beside import CHECK, AppCheck, Finding, read_check, write_check
from scaling.report.application import application_json
from scaling.report.page.render import page
from scaling.report.publish import publish
from scaling.report.terminal.app_answer import AppLines
from tests.support.applications import application_study, results_of

SOUND = AppCheck(ok=True, findings=[])
MIXED_UP = Finding(
    kind="mixed-up", request="GET /stock", message="an answer is another's", remedy="no global"
)
UNSAFE = AppCheck(ok=False, findings=[MIXED_UP])


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return application_study(tmp_path_factory.mktemp("checked"), blocks=2)


def answer_of(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    new_console().print(AppLines(results_of(path)), width=80)
    return capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_findings_are_in_page_json_and_answer(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_check(study.parent, UNSAFE)
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
    assert "Check: 1 finding on several loops (mixed-up)." in answer_of(study, capsys)


@pytest.mark.usefixtures("unrendered")
def test_a_sound_application_is_said_to_be(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_check(study.parent, SOUND)
    assert "What is wrong on several loops" not in page(results_of(study))
    assert "Check: its answers are the same" in answer_of(study, capsys)


def test_without_a_check_nothing_is_claimed(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (study.parent / CHECK).write_text("[torn")
    assert read_check(study.parent) is None
    assert json.loads(application_json(results_of(study)))["check"] is None
    assert "Check:" not in answer_of(study, capsys)


@pytest.mark.usefixtures("undrawn")
def test_findings_are_published_with_the_journal(study: Path, tmp_path: Path) -> None:
    write_check(study.parent, UNSAFE)
    publish(study, tmp_path / "published", new_console())
    assert read_check(tmp_path / "published") == UNSAFE
    told = msgspec.structs.replace(MIXED_UP, message="/home/me/shop.py raises")
    write_check(study.parent, AppCheck(ok=False, findings=[told]))
    with pytest.raises(ScalingError, match=r"check\.json"):
        publish(study, tmp_path / "published", new_console())
