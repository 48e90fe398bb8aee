"""Rich would turn `:smile:` into an emoji and `[red]` into a colour; names come out unchanged."""

import io
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.table import Table

from scaling.base.console import new_console
from scaling.cli import main
from scaling.journal.record import Failure, RunLine
from scaling.report.tables.interpreters import interpreters_table
from scaling.run.progress import LiveLine, PlainLines
from scaling.run.time_left import Left
from tests.support.children import ROOT
from tests.support.fabricate import Made, journal, write
from tests.support.fake_builds import interpreter

EMOJI = re.compile("[\U0001f000-\U0001faff]")
WORKLOAD, PARAMETER, VALUE, ARM, LOOP = ":smile:", ":cat:", ":dog:[red]", "3.14:bug:", ":fire:"
NAMES = (WORKLOAD, PARAMETER, VALUE, ARM, LOOP)


def failing(line: RunLine) -> RunLine:
    if line.block or line.cell.workers > 1 or line.record is None:
        return line
    failure = Failure(phase="setup", error=":bomb: :boom:[/]", worker=0)
    record = replace(line.record, failure=failure)
    return replace(line, outcome="failed", record=record)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / ":ghost:[b]"
    folder.mkdir()
    made = Made(
        name=":robot:",
        variants={WORKLOAD: [{PARAMETER: VALUE}, {PARAMETER: ":pig:"}]},
        arms=("3.14t", ARM),
        loops=("asyncio", LOOP),
        models=("threads", "processes"),
        workers=(1, 2),
        blocks=6,
    )
    write(journal(made, failing), folder / "journal.jsonl")
    return folder


def printed(
    arguments: Sequence[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "argv", ["scaling", *arguments])
    with suppress(SystemExit):
        main()
    out, err = capsys.readouterr()
    return f"{out}{err}"


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (("show", "{}"), NAMES),
        (("show", "{}", "--details"), NAMES),
        (("compare", "{}", "--output", "{}/:clown:"), (*NAMES, ":clown:")),
        (("plot", "{}"), (":ghost:[b]",)),
        (("report", "{}", "--output", "{}/:clown:.html"), (":clown:.html",)),
        (("export", "{}", "--to", "csv", "--output", "{}/:clown:.csv"), (":clown:.csv",)),
        (("export", "{}", "--to", "csv"), NAMES),
        (("export", "{}", "--to", ":smile:"), (":smile:",)),
        (("claims", "{}"), ()),
        (("claims", "{}", "--claims", ":clown:.toml"), (":clown:.toml",)),
        (("gate", "{}", "--min-efficiency", "0.5"), (WORKLOAD, ARM, LOOP)),
        (("gate", "{}", "--min-efficiency", ":clown:"), (":clown:",)),
        (("gate", "{}", "--min-efficiency", "0.5", "--workload", ":pill:"), (":pill:",)),
        (("publish", "{}", "{}/:clown:"), (":clown:",)),
        (("quotes", "{}/:clown:.md", "--results", "{}/.."), (":clown:.md",)),
        (("plan", "--study", ":clown:"), (":clown:",)),
        (("plan", "--study", "{}/:clown:.toml"), (":clown:.toml",)),
        (("plan", "--arm", ":clown:"), (":clown:",)),
        (("plan", "--preset", ":clown:"), (":clown:",)),
        (("plan", "--seconds", "1", ":clown:"), (":clown:",)),
        (("run", "--path", ":clown:"), (":clown:",)),
        (("show", ":clown:"), (":clown:",)),
        ((":clown:",), (":clown:",)),
    ],
    ids=" ".join,
)
def test_every_command_prints_names_as_they_are(
    command: Sequence[str],
    shown: Sequence[str],
    results: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = printed([each.format(results) for each in command], monkeypatch, capsys)
    assert not EMOJI.search(text)
    assert text.strip()
    for name in shown:
        assert name in text


def test_failures_are_printed_as_the_child_said_them(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(["show", str(results), "--details"], monkeypatch, capsys)
    assert ":bomb:" in text
    assert ":boom:[/]" in text


@pytest.mark.parametrize("kind", [PlainLines, LiveLine])
def test_progress_prints_names_as_they_are(kind: type[PlainLines] | type[LiveLine]) -> None:
    file = io.StringIO()
    console = new_console(file=file)
    console._force_terminal = console.is_interactive = kind is LiveLine
    shown = kind(console)
    shown.begin(2, 0)
    shown.running(f"{WORKLOAD} [b]", Left(3.0))
    shown.finished(f"{WORKLOAD} [b]", "1 :dog:/s", Left(2.0))
    shown.invalid(":bomb:", again=True)
    shown.block_done(0, ":cat:")
    shown.note(":pig:")
    shown.end()
    text = file.getvalue()
    assert not EMOJI.search(text)
    for name in (f"{WORKLOAD} [b]", ":dog:", ":cat:", ":pig:"):
        assert name in text


def test_interpreters_are_listed_without_markup() -> None:
    file = io.StringIO()
    one = interpreter(executable=Path("/opt/[b]/python"), config_args=("--disable-gil",))
    new_console(file=file).print(interpreters_table([one]))
    lines = [line.split()[-1] for line in file.getvalue().splitlines()[1:]]
    assert lines == ["--disable-gil", "/opt/[b]/python"]


def test_text_that_is_no_rich_text_is_printed_as_it_is() -> None:
    file = io.StringIO()
    table = Table(f"{WORKLOAD}[b]", title=":pig:[b]", caption=":cow:[b]")
    table.add_row(VALUE)
    new_console(file=file).print(":cat:[b]", table)
    assert all(name in file.getvalue() for name in (VALUE, f"{WORKLOAD}[b]", ":cat:[b]"))
    assert all(name in file.getvalue() for name in (":pig:[b]", ":cow:[b]"))


def test_consoles_are_made_in_one_place() -> None:
    made = {
        file.relative_to(ROOT).as_posix()
        for folder in ("scaling", "workers")
        for file in (ROOT / folder).rglob("*.py")  # tests make their own
        if re.search(r"\bConsole\(|from_markup|rich import print", file.read_text("utf-8"))
    }
    assert made == {"scaling/base/console.py"}
