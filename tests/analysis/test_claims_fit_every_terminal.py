"""`scaling claims` shows theirs and ours side by side: at 80 columns, in a pipe, without colour."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from scaling.base.errors import ScalingError, UsageError
from scaling.report.claims import journals_in, print_claims
from tests.support.claims import CELL, SOURCE, claim, study
from tests.support.cli import Command

ESCAPE = "\x1b["
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3|4|9|10)[0-8]")
OTHER = """
[sources.other]
title = "Another with [brackets] and *stars*"
where = "a printed book, page 12"
[sources.unheard]
title = "Nobody"
where = "nowhere"
"""
NEVER = """
[[claims]]
name = "never"
source = "other"
claim = "Costs | nothing_at_all."
cannot = "nobody says what it would cost"
"""
LIST = "".join(
    (
        SOURCE,
        OTHER,
        claim("at_least = 1.5\nnote = 'ours has [two] cores'"),
        NEVER,
        claim("at_least = 1.9", name="more"),
        claim("at_least = 1.8", name="doubtful"),
        claim("at_least = 1.9", name="far", cell=CELL.replace("s=2", "s=64")),
    )
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    study(folder / "machine" / "made")
    study(folder / "machine" / "older", blocks=6)
    (folder / "mine.toml").write_text(LIST, encoding="utf-8")
    return folder


def told(results: Path, width: int, output: Path | None = None, *, everything: bool = True) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    listed, folders = results / "mine.toml", [results / "machine"]
    print_claims(folders, listed, output, console, everything=everything)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_everything_fits_the_width_of_the_terminal(width: int, results: Path) -> None:
    text = told(results, width)
    assert max(map(len, text.splitlines())) <= width
    plain = " ".join(text.split())
    places = [
        plain.index(part)
        for part in (
            "Threads are free, A. Writer, 2025",
            "https://example.org/threads",
            "theirs: 2.0 ×",
            "ours: 1.8",
            "its whole interval is above 1.50",
            "note: ours has [two] cores",
            "its whole interval is below 1.90",
            "Another with [brackets] and *stars*",
            "nobody says what it would cost",
            "95 % interval over 8 blocks",
        )
    ]
    assert places == sorted(places)
    assert "Nobody" not in plain
    last = plain[plain.rindex("5 claims:") :]
    assert last == ("5 claims: 1 holds, 1 does not hold, 1 inconclusive, 2 cannot be tested here.")


def test_what_cannot_be_tested_is_counted_unless_all_is_asked_for(results: Path) -> None:
    text = " ".join(told(results, 80, everything=False).split())
    assert "does not hold" in text
    assert "nobody says what it would cost" not in text
    assert "Another with [brackets]" not in text
    assert "Left out: 2 claims that cannot be tested here. --all prints them" in text
    assert text.endswith("1 inconclusive, 2 cannot be tested here.")


@pytest.mark.slow
def test_a_pipe_gets_no_codes(
    results: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.chdir(results)
    done = command("claims", "machine", "--claims", "mine.toml")
    assert (done.returncode, done.stderr) == (0, "")
    assert ESCAPE not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stdout.splitlines()[-1].startswith("5 claims: 1 holds")


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_no_color_is_respected_on_a_terminal(
    results: Path, monkeypatch: pytest.MonkeyPatch, no_color: str, coloured: bool
) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm-256color")
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    print_claims([results / "machine"], results / "mine.toml", None, console)
    assert isinstance(console.file, io.StringIO)
    assert bool(COLOUR.search(console.file.getvalue())) == coloured


def test_the_same_is_written_as_markdown(results: Path, tmp_path: Path) -> None:
    file = tmp_path / "new" / "claims.md"
    assert f"written: {file}" in " ".join(told(results, 200, file).split())
    text = file.read_text("utf-8")
    assert text.startswith("# Claims\n\n5 claims: 1 holds")
    assert "## Threads are free, A. Writer, 2025\n\n<https://example.org/threads>\n" in text
    assert "- **holds** · Two threads do twice the work of one.\n  - theirs: 2.0 ×\n" in text
    assert r"Costs \| nothing\_at\_all." in text
    assert r"## Another with [brackets] and \*stars\*" in text


@pytest.mark.slow
def test_a_journal_is_not_written_over(results: Path) -> None:
    file = results / "machine" / "made" / "journal.jsonl"
    before = file.read_bytes()
    with pytest.raises(UsageError, match="is a journal and is not overwritten"):
        told(results, 80, file)
    assert file.read_bytes() == before
    with pytest.raises(ScalingError, match="cannot be written"):
        told(results, 80, results)


def test_folders_of_studies_and_studies_are_read_once_each(results: Path, tmp_path: Path) -> None:
    console = Console(file=io.StringIO())
    machine = results / "machine"
    found = journals_in([machine, machine / "made", machine / "made" / "journal.jsonl"], console)
    assert [each.path.parent.name for each in found] == ["made", "older"]
    with pytest.raises(UsageError, match=r"no journal.jsonl in this folder"):
        journals_in([tmp_path], console)
    with pytest.raises(UsageError, match="no such file or folder"):
        journals_in([machine, tmp_path / "nowhere"], console)


def test_a_study_that_cannot_be_read_is_passed_over_in_a_folder_of_them(tmp_path: Path) -> None:
    study(tmp_path / "made")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "journal.jsonl").write_text("{}\n")
    console = Console(file=io.StringIO(), width=200)
    (found,) = journals_in([tmp_path], console)
    assert found.path.parent.name == "made"
    assert isinstance(console.file, io.StringIO)
    assert "not a journal of scaling" in console.file.getvalue()
    with pytest.raises(UsageError, match="not a journal of scaling"):
        journals_in([tmp_path / "broken"], console)


@pytest.mark.slow
def test_bad_usage_is_a_line_and_exits_with_2(
    results: Path, tmp_path: Path, command: Command
) -> None:
    (tmp_path / "wrong.toml").write_text(SOURCE + claim(""))
    done = command("claims", str(results / "machine"), "--claims", "wrong.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("scaling: wrong.toml: claim 1 (twice): expected exactly one rule")
    assert done.stderr.count("\n") == 1
