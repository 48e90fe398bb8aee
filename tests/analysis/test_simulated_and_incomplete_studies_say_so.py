"""A study that was simulated, interrupted, cut off or damaged says so in every output: nothing that
leaves it can pass for a whole measurement.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from scaling.analysis.extent import incomplete
from scaling.analysis.table.load import read_journal
from scaling.analysis.tables.study import Study
from scaling.base.console import new_console
from scaling.journal.record import Line, encode_line
from scaling.report.compare import compare
from scaling.report.descriptions import environment_text
from scaling.report.explain import explain
from scaling.report.exports import FORMATS, export
from scaling.report.files import TABLES, write_csv, write_plots
from scaling.report.gate import gate
from scaling.report.output import show
from scaling.report.view.plots import drawings
from tests.support.cli import Command
from tests.support.documents import page, tables_markdown
from tests.support.printing import printed_by
from tests.support.runs import with_, with_readings
from tests.support.studies import FakeStudy, in_memory

QUIET = new_console(quiet=True)
MEASURED = FakeStudy(workers=(1, 2, 8), cores=8, logical=8, blocks=2, ticks=4, change=with_readings)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    simulated = replace(MEASURED, head={"simulated": True})
    return Study.of(simulated.read(tmp_path_factory.mktemp("simulated")))


@pytest.fixture
def folder(study: Study, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the study, whose tables are worked out once for all that shows them."""
    assert study.path
    made = Study.of
    known = {study.path: study}
    monkeypatch.setattr(Study, "of", lambda journal: known.get(journal.path) or made(journal))
    return study.path.parent


type Output = Callable[[Path, Console], object]

PRINTED: dict[str, Output] = {
    "show": show,
    "show --details": lambda at, to: show(at, to, details=True),
    "explain": explain,
    "explain --json": lambda at, to: explain(at, to, json_to=to),
    "gate": lambda at, to: gate(at, {"min_efficiency": 0.5}, {}, to, environment={}),
}


@pytest.mark.parametrize("name", PRINTED)
def test_what_is_printed_of_a_simulated_study_says_it(name: str, folder: Path) -> None:
    assert "simulated" in printed_by(lambda to: PRINTED[name](folder, to)).lower()


@pytest.mark.slow
def test_page_tables_files_and_plots_say_it(study: Study, tmp_path: Path) -> None:
    drawn = list(drawings(study, "throughput"))  # one function writes below all plots
    (tmp_path / "report.html").write_text(page(study, drawn), encoding="utf-8")
    (tmp_path / "environment.json").write_text(environment_text(study))
    (tmp_path / TABLES).write_text(tables_markdown(study))
    files = write_csv(study, tmp_path) + write_plots(drawn, tmp_path, ["svg"])
    assert {file.suffix for file in files} == {".csv", ".svg"}
    silent = [
        each.name for each in tmp_path.iterdir() if "simulated" not in each.read_text().lower()
    ]
    assert silent == []
    assert study.runs["simulated"].all()


@pytest.mark.parametrize("to", FORMATS)
def test_what_is_exported_says_it(to: str, folder: Path, tmp_path: Path) -> None:
    export(folder, [to], tmp_path, QUIET)
    assert all(b"simulated" in (tmp_path / each).read_bytes().lower() for each in FORMATS[to])


def test_a_measured_study_does_not_say_it_unless_it_is_compared_with_one_that_does(
    folder: Path, tmp_path: Path
) -> None:
    measured = MEASURED.study
    text = environment_text(measured) + tables_markdown(measured)
    assert "simulated" not in text.lower()
    MEASURED.write(tmp_path)
    text = printed_by(lambda to: compare([tmp_path, folder], None, to))
    assert "Simulated: nothing was measured" in " ".join(text.split())


WHOLE = FakeStudy(blocks=6, ticks=4)  # 18 runs
LINES = [encode_line(line) for line in WHOLE.lines]
RUBBISH = b'{"kind":"run","cell":{"work\n'
INTERRUPTED = "incomplete: 14 of 18 runs"
DAMAGED = {
    "interrupted": (LINES[:15], INTERRUPTED),
    "cut off": ([*LINES[:15], LINES[15][:-40]], INTERRUPTED),
    "unreadable": (
        [*LINES[:9], RUBBISH, *LINES[10:]],
        "incomplete: 17 of 18 runs, 1 line cannot be read",
    ),
    "needless": ([*LINES[:9], RUBBISH, *LINES[9:]], "incomplete: 18 of 18 runs, 1 line cannot be"),
}
COMMANDS = {
    "show": ["show", "study", "--details"],
    "compare": ["compare", "study"],
    "compare with another": ["compare", "whole", "study"],
    "gate": ["gate", "study", "--min-efficiency", "0.5"],
    "gate against it": ["gate", "whole", "--against", "study"],
}


def write_lines(lines: Sequence[bytes], folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "journal.jsonl").write_bytes(b"".join(lines))
    return folder


def test_two_runs_at_one_position_are_two(tmp_path: Path) -> None:
    """First runs have places in a plan without rates, the rest in that with rates."""
    runs = [with_(run, position=max(1, run.position)) for run in WHOLE.runs]
    lines = [encode_line(WHOLE.first_line), *map(encode_line, runs)]
    found = read_journal(write_lines(lines, tmp_path))
    assert incomplete(found.frame, found.study) == ""


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_begin_with_what_is_missing_and_long_ones_end_with_it(
    name: str, command: Command, tmp_path: Path
) -> None:
    write_lines(LINES, tmp_path / "whole")
    write_lines(DAMAGED["interrupted"][0], tmp_path / "study")
    printed = command(*COMMANDS[name]).stdout.replace("OLD: ", "").replace("RESULTS: ", "")
    assert printed.startswith(f"{INTERRUPTED} in study/journal.jsonl\n")
    is_short = name.startswith("gate")
    assert is_short or printed.splitlines()[-1].startswith(INTERRUPTED)


def test_whatever_happened_to_the_journal(tmp_path: Path) -> None:
    """It is the first and the last of the page, too."""
    for lines, said in DAMAGED.values():
        study = Study.of(read_journal(write_lines(lines, tmp_path / "study")))
        assert study.incomplete.startswith(said)
    lines, said = DAMAGED["unreadable"]
    html = page(Study.of(read_journal(write_lines(lines, tmp_path / "study"))), []).lower()
    assert html.index(said) < html.index("<main>") < html.rindex(said.partition(",")[0])


def test_what_belongs_to_a_study_is_what_it_was_asked_and_what_1_x_added() -> None:
    """The first line of one that ended in its first block says how many runs a block has. A run
    that was made again is one run.
    """

    def missing_of(study: FakeStudy, lost: int = 0, *more: Line) -> str:
        found = in_memory([*study.lines[: len(study.lines) - lost], *more])
        return incomplete(found.frame, found.study)

    assert missing_of(WHOLE) == missing_of(WHOLE, 0, with_(WHOLE.runs[-1], attempt=2)) == ""
    first = replace(WHOLE, head={"runs_per_block": 3})
    assert missing_of(first, lost=17) == "incomplete: 1 of 18 runs"
    more = replace(WHOLE, blocks=7, head={"blocks": 6})
    assert missing_of(more) == ""
    assert missing_of(more, lost=1) == "incomplete: 20 of 21 runs"
    blocks = {"headline_blocks": 2}
    headline = replace(WHOLE, head={"headline_runs": {"echo": 2}}, options=blocks)
    assert missing_of(headline) == "incomplete: 18 of 22 runs"
