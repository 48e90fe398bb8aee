"""What a study asks for and cannot run is written down, and shown with its reason."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from scaling.analysis.results import StudyResults
from scaling.journal.record import RefusedCells, StudyLine, decode_line, encode_line
from scaling.machine.identity import describe_machine
from scaling.machine.topology import Topology
from scaling.report.files import tables_markdown
from scaling.report.page.render import page
from scaling.report.terminal.answer import LINES, Answer
from scaling.run.measure import head
from scaling.study.combine import study_from
from scaling.study.file import read_study
from scaling.study.options import Options
from scaling.study.plan.cells import Plan, make_plan
from tests.support.descriptions import description
from tests.support.fabricate import Made, studied, with_

TOPOLOGY = Topology(logical_cpus=2, physical_cores=2)
UVLOOP = RefusedCells(
    workload="echo",
    arms=("3.14t",),
    model="interpreters",
    loop="uvloop",
    sizing="weak",
    reason="uvloop will not load there",
)
MEINHELD = RefusedCells(
    workload="web",
    arms=("3.14", "3.14t"),
    model="processes",
    loop="asyncio",
    sizing="strong",
    reason="stack=flask/meinheld: there is no release for this version | of Python",
)


def planned() -> Plan:
    text = """
        loops = ["asyncio", "uvloop"]
        models = ["threads", "interpreters"]
        [[workloads]]
        name = "echo"
    """
    study = study_from(
        Options(arm=("3.14t",), controls=False),
        running_build="3.14t",
        load_file=lambda name: read_study(text, f"{name}.toml"),
    )
    return make_plan(study, {"3.14t": description()}, TOPOLOGY)


def test_a_journal_begins_with_it() -> None:
    line = head(planned(), {}, describe_machine(TOPOLOGY), pins="", workers_source="")
    assert line.refused == [UVLOOP]
    read = decode_line(encode_line(line))
    assert isinstance(read, StudyLine)
    assert read.refused == [UVLOOP]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    return StudyResults.of(studied(tmp_path_factory.mktemp("study"), Made(blocks=1)))


def test_tables_page_and_answer_show_it(whole: StudyResults) -> None:
    results = StudyResults(whole.frame, with_(whole.study, refused=[UVLOOP, MEINHELD]))
    row = "| web | asyncio | 3.14, 3.14t | processes | strong | stack=flask/meinheld: there is no"
    assert row in tables_markdown(results)
    shown = page(results)
    assert shown.count("What cannot be run") == 1
    assert all(each.reason in shown for each in (UVLOOP, MEINHELD))
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(Answer(results))
    answer = console.export_text()
    assert "2 combinations cannot be run: see the tables." in answer
    assert len(answer.splitlines()) <= LINES


def test_a_study_that_can_run_everything_has_nothing_of_it(whole: StudyResults) -> None:
    assert not whole.study.refused
    assert "cannot be run" not in tables_markdown(whole) + page(whole)


def test_a_reason_has_no_path_of_the_user(tmp_path: Path) -> None:
    made = planned()
    (refused,) = made.refused
    named = replace(refused, reason=f"ImportError: no name 'x' in 'y' ({tmp_path}/y.py)")
    asked = replace(made, refused=(named,))
    (each,) = head(asked, {}, describe_machine(TOPOLOGY), pins="", workers_source="").refused
    assert each.reason == "ImportError: no name 'x' in 'y' (y.py)"
