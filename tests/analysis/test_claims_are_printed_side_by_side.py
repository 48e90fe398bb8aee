"""`scaling claims` prints theirs beside ours, and writes the same as Markdown."""

import io
from pathlib import Path

import pytest

from scaling.base.console import new_console
from scaling.base.errors import ScalingError, UsageError
from scaling.report.claims import journals_in, print_claims
from tests.support.claims import CELL, SOURCE, claim, study
from tests.support.cli import Command

LIST = "".join(
    (
        SOURCE,
        """
[sources.other]
title = "Another with [brackets] and *stars*"
where = "a printed book, page 12"
[sources.unheard]
title = "Nobody"
where = "nowhere"
""",
        claim("at_least = 1.5\nnote = 'ours has [two] cores'"),
        """
[[claims]]
name = "never"
source = "other"
claim = "Costs | nothing_at_all."
cannot = "nobody says what it would cost"
""",
        claim("at_least = 1.9", name="more"),
        claim("at_least = 1.8", name="doubtful"),
        claim("at_least = 1.9", name="far", cell=CELL.replace("s=2", "s=64")),
    )
)
COUNTED = "1 holds, 1 does not hold, 1 inconclusive, 2 cannot be tested here."


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    study(folder / "machine" / "made")
    study(folder / "machine" / "older", blocks=6)
    (folder / "mine.toml").write_text(LIST, encoding="utf-8")
    return folder


def told(results: Path, output: Path | None = None, *, everything: bool = True) -> str:
    console = new_console(file=io.StringIO())
    console.width = 80
    print_claims(
        [results / "machine"], results / "mine.toml", output, console, everything=everything
    )
    return " ".join(console.file.getvalue().split())  # type: ignore[attr-defined]


def test_each_claim_has_theirs_ours_and_the_reason(results: Path) -> None:
    text = told(results)
    places = [
        text.index(part)
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
    assert "Nobody" not in text
    assert text.endswith(f"5 claims: {COUNTED}")


def test_what_cannot_be_tested_is_counted_unless_all_is_asked_for(results: Path) -> None:
    text = told(results, everything=False)
    assert "nobody says what it would cost" not in text
    assert "Another with [brackets]" not in text
    assert "Left out: 2 claims that cannot be tested here. --all prints them" in text
    assert text.endswith(COUNTED)


def test_the_same_is_written_as_markdown(results: Path, tmp_path: Path) -> None:
    file = tmp_path / "new" / "claims.md"
    assert f"written: {file}" in told(results, file)
    text = file.read_text("utf-8")
    assert text.startswith("# Claims\n\n5 claims: 1 holds")
    assert "## Threads are free, A. Writer, 2025\n\n<https://example.org/threads>\n" in text
    assert "- **holds** · Two threads do twice the work of one.\n  - theirs: 2.0 ×\n" in text
    assert r"Costs \| nothing\_at\_all." in text
    assert r"## Another with [brackets] and \*stars\*" in text


def test_a_journal_is_not_written_over(results: Path) -> None:
    file = results / "machine" / "made" / "journal.jsonl"
    before = file.read_bytes()
    with pytest.raises(UsageError, match="is a journal and is not overwritten"):
        told(results, file)
    assert file.read_bytes() == before
    with pytest.raises(ScalingError, match="cannot be written"):
        told(results, results)


def test_folders_of_studies_and_studies_are_read_once_each(results: Path, tmp_path: Path) -> None:
    quiet, machine = new_console(quiet=True), results / "machine"
    found = journals_in([machine, machine / "made", machine / "made" / "journal.jsonl"], quiet)
    assert [each.path.parent.name for each in found] == ["made", "older"]
    with pytest.raises(UsageError, match=r"no journal.jsonl in this folder"):
        journals_in([tmp_path], quiet)
    with pytest.raises(UsageError, match="no such file or folder"):
        journals_in([machine, tmp_path / "nowhere"], quiet)


def test_a_study_that_cannot_be_read_is_passed_over_in_a_folder_of_them(tmp_path: Path) -> None:
    study(tmp_path / "made")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "journal.jsonl").write_text("{}\n")
    file = io.StringIO()
    (found,) = journals_in([tmp_path], new_console(file=file))
    assert found.path.parent.name == "made"
    assert "not a journal of scaling" in " ".join(file.getvalue().split())
    with pytest.raises(UsageError, match="not a journal of scaling"):
        journals_in([tmp_path / "broken"], new_console(quiet=True))


@pytest.mark.slow
def test_the_command_prints_them_and_bad_usage_is_a_line(
    results: Path, tmp_path: Path, command: Command
) -> None:
    done = command("claims", str(results / "machine"), "--claims", str(results / "mine.toml"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("5 claims: 1 holds")
    (tmp_path / "wrong.toml").write_text(SOURCE + claim(""))
    done = command("claims", str(results / "machine"), "--claims", "wrong.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("scaling: wrong.toml: claim 1 (twice): expected exactly one rule")
    assert done.stderr.count("\n") == 1
