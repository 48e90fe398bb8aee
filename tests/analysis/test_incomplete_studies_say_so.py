"""A study that was interrupted, cut off or damaged says what is missing, first and last."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from scaling.analysis.results import StudyResults, incomplete
from scaling.analysis.table.load import read_journal
from scaling.journal.record import RunLine, encode_line
from scaling.report.page.render import page
from tests.support.cli import Command
from tests.support.fabricate import Made, journal, with_

MADE = Made(workers=(1, 2, 4), blocks=6)  # 18 runs
LINES = [encode_line(line) for line in journal(MADE)]
RUBBISH = b'{"kind":"run","cell":{"work\n'
DAMAGED = {
    "interrupted": (LINES[:15], "incomplete: 14 of 18 runs"),
    "cut off": ([*LINES[:15], LINES[15][:-40]], "incomplete: 14 of 18 runs"),
    "unreadable": (
        [*LINES[:9], RUBBISH, *LINES[10:]],
        "incomplete: 17 of 18 runs, 1 line cannot be read",
    ),
    "needless": ([*LINES[:9], RUBBISH, *LINES[9:]], "incomplete: 18 of 18 runs, 1 line cannot be"),
}
COMMANDS = {
    "show": ["show", "study"],
    "compare": ["compare", "study"],
    "compare with another": ["compare", "whole", "study"],
    "gate": ["gate", "study", "--min-efficiency", "0.5"],
    "gate against it": ["gate", "whole", "--against", "study"],
    "export a file": ["export", "study", "--to", "csv"],
    "export markdown": ["export", "study", "--to", "markdown"],
}


@pytest.fixture
def studies(tmp_path: Path) -> Callable[[list[bytes]], Path]:
    """Writes a whole study, and another one of these lines; gives the folder of the latter."""

    def write(lines: list[bytes]) -> Path:
        for name, content in {"whole": LINES, "study": lines}.items():
            (tmp_path / name).mkdir()
            (tmp_path / name / "journal.jsonl").write_bytes(b"".join(content))
        return tmp_path / "study"

    return write


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_begins_and_ends_with_it(
    name: str, studies: Callable[[list[bytes]], Path], command: Command
) -> None:
    lines, said = DAMAGED["interrupted"]
    studies(lines)
    done = command(*COMMANDS[name])
    if name.startswith("export"):  # what is exported goes to stdout
        assert f"{said} in study/journal.jsonl" in done.stdout + done.stderr
        return
    printed = done.stdout.replace("OLD: ", "").replace("RESULTS: ", "")
    assert printed.startswith(f"{said} in study/journal.jsonl\n")
    last = printed.splitlines()[-2 if name.startswith("gate") else -1]  # the gate's word is last
    assert last.startswith(said)


@pytest.mark.parametrize("kind", DAMAGED)
def test_whatever_happened_to_the_journal(
    kind: str, studies: Callable[[list[bytes]], Path], command: Command
) -> None:
    lines, said = DAMAGED[kind]
    studies(lines)
    printed = command("show", "study").stdout
    assert printed.count(said) == 2


def test_figures_for_other_programs_stay_alone_on_standard_output(
    studies: Callable[[list[bytes]], Path], command: Command
) -> None:
    lines, said = DAMAGED["interrupted"]
    studies(lines)
    done = command("export", "study", "--to", "bencher")
    assert done.returncode == 0
    assert "incomplete" not in done.stdout
    assert done.stderr.count(said) == 2


@pytest.mark.usefixtures("unrendered")
@pytest.mark.parametrize("kind", DAMAGED)
def test_the_page_begins_and_ends_with_it(
    kind: str, studies: Callable[[list[bytes]], Path]
) -> None:
    lines, said = DAMAGED[kind]
    html = page(StudyResults.of(read_journal(studies(lines))))
    assert html.count(said) == 2
    assert html.index(said) < html.index("<main>") < html.rindex(said)


def test_a_packed_journal_that_was_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl.gz"
    file.write_bytes(gzip.compress(b"".join(LINES))[:-2_000])
    found = read_journal(tmp_path)
    missing = incomplete(found.frame, found.study, found.notes)
    assert 0 < len(found.frame) < 18
    assert missing == f"incomplete: {len(found.frame)} of 18 runs"


def test_a_study_interrupted_in_its_first_block(tmp_path: Path) -> None:
    """Its first line says how many runs a block has."""
    head = with_(journal(MADE)[0], runs_per_block=3)
    (tmp_path / "journal.jsonl").write_bytes(encode_line(head) + LINES[1])
    found = read_journal(tmp_path)
    assert incomplete(found.frame, found.study) == "incomplete: 1 of 18 runs"


def test_a_run_that_was_made_again_is_one_run(tmp_path: Path) -> None:
    *lines, last = journal(MADE)
    assert isinstance(last, RunLine)
    again = [encode_line(with_(last, attempt=attempt)) for attempt in (1, 2)]
    (tmp_path / "journal.jsonl").write_bytes(b"".join([*map(encode_line, lines), *again]))
    found = read_journal(tmp_path)
    assert len(found.frame) == 19
    assert incomplete(found.frame, found.study) == ""


def test_blocks_that_were_added_for_precision_belong_to_the_study(tmp_path: Path) -> None:
    head, *runs = journal(Made(workers=(1, 2, 4), blocks=7))
    lines = [with_(head, blocks=6), *runs]
    (tmp_path / "journal.jsonl").write_bytes(b"".join(map(encode_line, lines)))
    found = read_journal(tmp_path)
    assert incomplete(found.frame, found.study) == ""
    (tmp_path / "journal.jsonl").write_bytes(b"".join(map(encode_line, lines[:-1])))
    found = read_journal(tmp_path)
    assert incomplete(found.frame, found.study) == "incomplete: 20 of 21 runs"
