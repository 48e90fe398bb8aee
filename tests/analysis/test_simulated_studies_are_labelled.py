"""A simulated study says so in every output: nothing that leaves it can pass for a measurement."""

import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import scaling
from scaling.analysis.claims import judge
from scaling.analysis.gate.checks import Limits
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal, read_journal
from scaling.base.console import new_console
from scaling.report.compare import compare
from scaling.report.explain import explain
from scaling.report.export.formats import FORMATS, export
from scaling.report.files import write_derived
from scaling.report.gate import gate
from scaling.report.page.render import page
from scaling.report.publish import environment_text
from scaling.report.terminal.answer import Answer
from scaling.report.terminal.show import Results
from tests.support.fabricate import with_, write
from tests.support.served import Served
from tests.support.served import journal as served_journal
from tests.support.simulated_machine import STUDY, simulated

SMALL = replace(
    STUDY,
    variants={"echo": [{"payload_bytes": 1024}]},
    arms=("3.14t",),
    loops=("asyncio",),
    models=("threads",),
    workers=(1, 2, 64),
)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    folder = tmp_path_factory.mktemp("simulated")
    return read_journal(write(simulated(2, SMALL), folder / "journal.jsonl"))


type Output = Callable[[Journal, Console], object]

PRINTED: dict[str, Output] = {
    "run": lambda study, console: console.print(Answer(StudyResults.of(study))),
    "show": lambda study, console: console.print(Results(StudyResults.of(study))),
    "explain": lambda study, console: explain(study.path, console),
    "explain --json": lambda study, console: explain(study.path, console, json_to=console),
    "gate": lambda study, console: gate(
        study.path, Limits(min_efficiency=0.5), {}, console, environment={}
    ),
    "page": lambda study, console: console.print(page(StudyResults.of(study))),
    "environment": lambda study, console: console.print(environment_text(study)),
}


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
@pytest.mark.parametrize("name", PRINTED)
def test_what_is_printed_says_it(name: str, study: Journal) -> None:
    file = io.StringIO()
    PRINTED[name](study, new_console(file=file))
    assert "simulated" in file.getvalue().lower()


def test_compared_with_a_measured_study_it_is_named(study: Journal, tmp_path: Path) -> None:
    head, *runs = simulated(1, SMALL)
    measured = write([with_(head, simulated=False), *runs], tmp_path / "journal.jsonl")
    file = io.StringIO()
    compare([measured, study.path], None, new_console(file=file))
    assert "Simulated: nothing was measured" in " ".join(file.getvalue().split())


@pytest.mark.parametrize("to", sorted(FORMATS.keys() - {"columns", "hdr"}))
def test_what_is_exported_says_it(to: str, study: Journal, tmp_path: Path) -> None:
    file = tmp_path / "file"
    export(study.path, to, file, new_console(quiet=True))
    assert b"simulated" in file.read_bytes().lower()


def test_latencies_that_are_exported_say_it(tmp_path: Path) -> None:
    head, *runs = served_journal(Served(blocks=1, rates=(200.0,), workers=(1,)))
    made = write([with_(head, simulated=True), *runs], tmp_path / "journal.jsonl")
    export(made, "hdr", tmp_path / "latencies.zip", new_console(quiet=True))
    names = zipfile.ZipFile(tmp_path / "latencies.zip").namelist()
    assert names
    assert all(name.startswith("simulated-") for name in names)


@pytest.mark.slow
def test_tables_files_and_every_plot_say_it(study: Journal, tmp_path: Path) -> None:
    files = write_derived(StudyResults.of(study), tmp_path, formats=["svg"])
    assert {file.suffix for file in files} == {".md", ".csv", ".svg"}
    silent = [file.name for file in files if "simulated" not in file.read_text().lower()]
    assert silent == []


def test_the_frame_has_it_and_no_claim_is_decided_by_it(study: Journal) -> None:
    assert scaling.load(study.path)["simulated"].all()
    words = {each.word for each in judge([study])}
    assert words <= {"inconclusive", "cannot be tested here"}


def test_a_measured_study_does_not_say_it(tmp_path: Path) -> None:
    head, *runs = simulated(1, SMALL)
    measured = write([with_(head, simulated=False), *runs], tmp_path / "journal.jsonl")
    export(measured, "markdown", tmp_path / "tables.md", new_console(quiet=True))
    text = environment_text(read_journal(measured)) + (tmp_path / "tables.md").read_text()
    assert "simulated" not in text.lower()
