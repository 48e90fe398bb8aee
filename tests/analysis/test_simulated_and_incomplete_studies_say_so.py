"""A study that was simulated, interrupted, cut off or damaged says so in every output: nothing that
leaves it can pass for a whole measurement.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import scaling
from scaling.analysis.extent import incomplete
from scaling.analysis.table.load import Journal, read_journal
from scaling.analysis.tables.study import Study
from scaling.base.console import new_console
from scaling.journal.record import encode_line
from scaling.report.compare import compare
from scaling.report.environment import environment_text
from scaling.report.explain import explain
from scaling.report.exports import FORMATS, export
from scaling.report.files import write_plots, write_tables
from scaling.report.gate import Bounds, gate
from scaling.report.page import page, tables_markdown
from scaling.report.show import print_answer, show
from scaling.report.view.plots import drawings
from tests.support.cli import Command
from tests.support.printing import printed_by
from tests.support.runs import with_, with_readings
from tests.support.studies import FakeStudy, in_memory

QUIET = new_console(quiet=True)
MEASURED = FakeStudy(workers=(1, 2, 8), cores=8, logical=8, blocks=2, ticks=4, change=with_readings)
SIMULATED = replace(MEASURED, head={"simulated": True})


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Journal:
    return SIMULATED.read(tmp_path_factory.mktemp("simulated"))


type Output = Callable[[Journal, Console], object]

PRINTED: dict[str, Output] = {
    "run": lambda study, to: print_answer(Study.of(study), to),
    "show": lambda study, to: show(study.path, to, details=True),
    "explain": lambda study, to: explain(study.path, to),
    "explain --json": lambda study, to: explain(study.path, to, json_to=to),
    "gate": lambda study, to: gate(study.path, Bounds(min_efficiency=0.5), {}, to, environment={}),
    "page": lambda study, to: to.print(page(Study.of(study))),
    "environment": lambda study, to: to.print(environment_text(Study.of(study))),
}


@pytest.mark.usefixtures("unrendered")
@pytest.mark.parametrize("name", PRINTED)
def test_what_is_printed_of_a_simulated_study_says_it(name: str, study: Journal) -> None:
    assert "simulated" in printed_by(lambda to: PRINTED[name](study, to)).lower()


def test_compared_with_a_measured_study_it_is_named(study: Journal, tmp_path: Path) -> None:
    MEASURED.write(tmp_path)
    text = printed_by(lambda to: compare([tmp_path, study.path], None, to))
    assert "Simulated: nothing was measured" in " ".join(text.split())


@pytest.mark.parametrize("to", FORMATS)
def test_what_is_exported_says_it(to: str, study: Journal, tmp_path: Path) -> None:
    export(study.path, [to], tmp_path, QUIET)
    assert all(b"simulated" in (tmp_path / each).read_bytes().lower() for each in FORMATS[to])


@pytest.mark.slow
def test_tables_files_and_every_plot_say_it(study: Journal, tmp_path: Path) -> None:
    of = Study.of(study)
    files = write_tables(of, tmp_path) + write_plots(drawings(of), tmp_path, ["svg"])
    assert {file.suffix for file in files} == {".md", ".csv", ".svg"}
    silent = [file.name for file in files if "simulated" not in file.read_text().lower()]
    assert silent == []


def test_the_frame_has_it(study: Journal) -> None:
    assert scaling.load(study.path)["simulated"].all()


def test_a_measured_study_does_not_say_it(tmp_path: Path) -> None:
    MEASURED.write(tmp_path)
    journal = read_journal(tmp_path)
    text = environment_text(Study.of(journal)) + tables_markdown(Study.of(journal))
    assert "simulated" not in text.lower()


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


@pytest.fixture
def interrupted(tmp_path: Path) -> Path:
    """An interrupted study beside a whole one."""
    write_lines(LINES, tmp_path / "whole")
    return write_lines(DAMAGED["interrupted"][0], tmp_path / "study")


@pytest.mark.usefixtures("interrupted")
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_begin_with_what_is_missing_and_long_ones_end_with_it(
    name: str, command: Command
) -> None:
    printed = command(*COMMANDS[name]).stdout.replace("OLD: ", "").replace("RESULTS: ", "")
    assert printed.startswith(f"{INTERRUPTED} in study/journal.jsonl\n")
    is_short = name.startswith("gate")
    assert is_short or printed.splitlines()[-1].startswith(INTERRUPTED)


@pytest.mark.usefixtures("unrendered")
@pytest.mark.parametrize("kind", DAMAGED)
def test_whatever_happened_to_the_journal(kind: str, tmp_path: Path, command: Command) -> None:
    """It is the first and the last of the page, too."""
    lines, said = DAMAGED[kind]
    folder = write_lines(lines, tmp_path / "study")
    assert command("show", "study", "--details").stdout.count(said) == 2
    html = page(Study.of(read_journal(folder))).lower()
    assert html.index(said) < html.index("<main>") < html.rindex(said.partition(",")[0])


def missing_of(study: FakeStudy, lost: int = 0) -> str:
    found = in_memory(study.lines[: len(study.lines) - lost])
    return incomplete(found.frame, found.study)


def test_what_belongs_to_a_study_is_what_it_was_asked_and_what_1_x_added() -> None:
    """The first line of one that ended in its first block says how many runs a block has."""
    assert missing_of(WHOLE) == ""
    first = replace(WHOLE, head={"runs_per_block": 3})
    assert missing_of(first, lost=17) == "incomplete: 1 of 18 runs"
    more = replace(WHOLE, blocks=7, head={"blocks": 6})
    assert missing_of(more) == ""
    assert missing_of(more, lost=1) == "incomplete: 20 of 21 runs"


def test_a_run_that_was_made_again_is_one_run() -> None:
    *lines, last = WHOLE.lines
    found = in_memory([*lines, last, with_(last, attempt=2)])
    assert len(found.frame) == 19
    assert incomplete(found.frame, found.study) == ""
