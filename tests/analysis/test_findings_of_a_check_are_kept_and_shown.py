"""What the check of an application found is beside its journal and in all made of it."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from scaling.analysis.tables.study import Study
from scaling.base.console import new_console
from scaling.base.errors import ScalingError
from scaling.journal.check_file import CHECK_FILE, AppCheck, Finding, read_check, write_check
from scaling.report.output import answer_json, print_answer
from scaling.report.publish import publish
from tests.support.documents import page
from tests.support.printing import printed_by
from tests.support.served_studies import FakeAppStudy

MIXED_UP = Finding(
    kind="mixed-up", request="GET /stock", message="an answer is another's", remedy="no global"
)
LOST = Finding(
    kind="state-in-process",
    request="GET /items",
    message="in processes GET /items is answered 404, not 200",
    remedy="threads keep it",
    models=("processes", "forked"),
)
UNSAFE = AppCheck(
    ok=False,
    findings=[LOST, MIXED_UP],
    models=("threads", "processes", "forked"),
    left_out=["4 loops in threads: no time was left"],
)

MADE = FakeAppStudy(blocks=2, window_s=2.0)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return MADE.write(tmp_path_factory.mktemp("checked"))


def study_of(path: Path) -> Study:
    return Study.of(replace(MADE.journal, path=path))


def answer_of(study: Study) -> str:
    return " ".join(printed_by(lambda to: print_answer(study, to)).split())


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_findings_are_in_page_json_and_answer(study: Path) -> None:
    write_check(study.parent, UNSAFE)
    checked = study_of(study)
    shown = page(checked, drawn=[])
    assert "What the check found wrong" in shown
    assert "no global" in shown
    assert "in processes" in shown
    assert "Not checked: 4 loops in threads: no time was left." in shown
    assert json.loads(answer_json(checked))["check"] == json.loads(msgspec.json.encode(UNSAFE))
    said = answer_of(checked)
    assert (
        "Check: 2 findings (state-in-process, mixed-up): wrong on several loops and in processes, "
        "so not recommended." in said
    )


def test_a_check_before_2_0_claims_nothing_of_processes(study: Path) -> None:
    """It has neither `models` nor `left_out`, and looked at threads alone."""
    finding = {"kind": "mixed-up", "request": "GET /", "message": "another's", "remedy": "a lock"}
    old = {"ok": False, "findings": [finding]}
    (study.parent / CHECK_FILE).write_text(json.dumps(old))
    found = read_check(study.parent)
    assert found
    assert (found.models, found.wrong_models) == (("threads",), ["threads"])


@pytest.mark.usefixtures("undrawn")
def test_findings_with_a_path_are_not_published(study: Path, tmp_path: Path) -> None:
    told = msgspec.structs.replace(MIXED_UP, message="/home/me/shop.py raises")
    write_check(study.parent, AppCheck(ok=False, findings=[told]))
    with pytest.raises(ScalingError, match=r"check\.json"):
        publish(study, tmp_path / "published", new_console())
