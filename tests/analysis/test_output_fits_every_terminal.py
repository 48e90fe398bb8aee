"""What any command prints fits 60, 80 and 120 columns, and has names as they are; a pipe, a
terminal with NO_COLOR and one in ASCII get no more than they can show.
"""

import io
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from scaling.analysis.gate_bounds import Limits
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import read_journal
from scaling.base.console import new_console
from scaling.builds.settings import SETTINGS
from scaling.cli import HANDLER, print_in_any_encoding
from scaling.journal.record import Failure, RunLine
from scaling.machine import snapshot
from scaling.machine.doctor import examine, report
from scaling.report import files
from scaling.report.compare import compare
from scaling.report.explain import explain
from scaling.report.gate import gate
from scaling.report.output import print_answer
from scaling.report.tables.interpreters import interpreters_table
from scaling.report.tables.ready import ready_chapter
from scaling.report.terminal.show import show
from scaling.run.progress import LiveLine, PlainLines
from scaling.run.time_left import Left
from scaling.study.plan.table import plan_view
from tests.analysis.test_ready_says_what_blocks import LXML, OLD, SLOWER, SOUND, of
from tests.support.children import ROOT
from tests.support.cli import Command
from tests.support.fake_builds import interpreter
from tests.support.once import made_once
from tests.support.plans import planned
from tests.support.runs import with_, with_readings
from tests.support.served_studies import FakeAppStudy, FakeServedStudy
from tests.support.studies import FakeStudy, with_settings

WIDTHS = (60, 80, 120)
WIDE = 400  # nothing is folded
ESCAPE = "\x1b"
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3|4|9|10)[0-8]")
EMOJI = re.compile("[\U0001f000-\U0001faff]")
# Paths, commands, addresses and code are there to be copied: no terminal breaks them.
TO_COPY = re.compile(r"\bscaling [a-z]+ |--preset |https?://|/\S+/")
CODE = {line for each in SETTINGS.values() for line in each.lines}

# Rich would turn `:smile:` into an emoji, and `[red]` into a colour.
WORKLOAD, PARAMETER, VALUE, ARM, LOOP = (
    ":smile:",
    ":cat:",
    "日本語:dog:[red]",
    "3.14:bug:",
    ":fire:",
)
NAMES = (WORKLOAD, PARAMETER, VALUE, ARM, LOOP)
NAMED = FakeStudy(
    name=":robot:",
    variants={WORKLOAD: [{PARAMETER: VALUE}, {PARAMETER: ":pig:" * 12}]},
    arms=("3.14t", ARM),
    loops=("asyncio", LOOP),
    models=("threads", "processes"),
    workers=(1, 2, 4, 16),
    blocks=6,
    noise=0.05,
    ticks=4,
)
LADDER = FakeStudy(
    arms=("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t"),
    models=("threads", "processes", "interpreters"),
    workers=(1, 2),
    blocks=8,
    ticks=4,
)
READINGS = FakeStudy(
    workers=(1, 2, 64), cores=64, logical=128, blocks=6, ticks=4, change=with_readings
)


def failing(run: RunLine) -> RunLine:
    """One run fails with a text of its own."""
    if run.block or run.cell.workers > 1 or run.record is None:
        return run
    failure = Failure(phase="setup", error=":bomb: :boom:[/]", worker=0)
    return with_(run, outcome="failed", record__failure=failure)


def make_studies(folder: Path) -> None:
    """One of each kind that a command prints."""
    named = replace(NAMED, change=failing)
    for name, study in {
        "named": named,
        "elsewhere": replace(named, head={"machine__id": "b"}),
        "ladder": LADDER,
        "later": replace(LADDER, seed=2, noise=0.1),
        "remedies": with_settings({"nogc": 1.2, "deferred": 1.0}),
        "readings": READINGS,
        "open-loop": FakeServedStudy(rates=(200.0, 1_300.0), window_s=4.0),
        "app": FakeAppStudy(answers_per_s={("3.14t", "threads"): 1_600.0}),
        **{
            name: FakeAppStudy(parameters={"server": "loops", "application": f"{name}:app"})
            for name in ("shop", "inn")
        },
    }.items():
        study.write(folder / name)


@pytest.fixture(scope="session")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of studies, by name."""
    return made_once(tmp_path_factory, "studies-that-are-printed", make_studies)


@pytest.fixture(autouse=True)
def worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A study is read and worked out once for all commands and widths: that is not in doubt."""
    monkeypatch.setattr(files, "read_journal", journal)
    monkeypatch.setattr(StudyResults, "of", results_of)


journal, results_of = cache(read_journal), cache(StudyResults.of)


def results(folder: Path) -> StudyResults:
    return results_of(journal(folder))


def print_doctor(_: Path, to: Console) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshot, "survey", lambda: [interpreter("3.14"), interpreter("3.14t")])
        to.print(report(examine(snapshot.look(lambda _s: None))))


def print_plan(_: Path, to: Console) -> None:
    plan = planned(workload=("echo,compute",), loop=("asyncio,uvloop",), controls=None)
    to.print(plan_view(plan))


def print_gate(folder: Path, to: Console) -> None:
    limits = Limits(against=folder / "ladder", max_regression=0.1, min_efficiency=0.5)
    gate(folder / "later", limits, {}, to, details=True, environment={})


type Print = Callable[[Path, Console], object]

OF_NAMES: dict[str, Print] = {
    "show": lambda at, to: show(at / "named", to),
    "show --details": lambda at, to: show(at / "named", to, details=True),
    "compare": lambda at, to: compare([at / "named"], None, to),
    "compare machines": lambda at, to: compare([at / "named", at / "elsewhere"], None, to),
}
PRINTED: dict[str, Print] = {
    **OF_NAMES,
    "run": lambda at, to: print_answer(results(at / "named"), at, to),
    "run of an open loop": lambda at, to: print_answer(results(at / "open-loop"), at, to),
    "show of the ladder": lambda at, to: show(at / "ladder", to, details=True),
    "show of an open loop": lambda at, to: show(at / "open-loop", to, details=True),
    "show of remedies": lambda at, to: show(at / "remedies", to),
    "compare programs": lambda at, to: compare([at / "shop", at / "inn"], None, to),
    "compare studies": lambda at, to: compare([at / "ladder", at / "later"], None, to),
    "explain": lambda at, to: explain(at / "readings", to, details=True),
    "gate --against": print_gate,
    "app": lambda at, to: print_answer(results(at / "app"), at, to, 2 * 2**30),
    "plan": print_plan,
    "ready": lambda _, to: to.print(ready_chapter([of(SOUND, SLOWER, OLD, LXML)])),
    "doctor": print_doctor,
    "interpreters": lambda _, to: to.print(interpreters_table([interpreter("3.14t", pgo=True)])),
}


def printed(show: Print, studies: Path, width: int) -> str:
    file = io.StringIO()
    console = new_console(file=file)
    console.width = width
    show(studies, console)
    return file.getvalue()


@pytest.mark.parametrize("name", PRINTED)
def test_every_line_fits_and_a_pipe_gets_no_codes(name: str, studies: Path) -> None:
    for width in WIDTHS:
        text = printed(PRINTED[name], studies, width)
        assert text.strip()
        assert ESCAPE not in text
        wide = [line for line in text.splitlines() if cell_len(line.rstrip()) > width]
        assert [line for line in wide if not TO_COPY.search(line) and line not in CODE] == [], width


@pytest.mark.parametrize("name", OF_NAMES)
def test_names_are_printed_as_they_are(name: str, studies: Path) -> None:
    text = printed(OF_NAMES[name], studies, WIDE)
    assert not EMOJI.search(text)
    assert [each for each in NAMES if each not in text] == []


def test_a_terminal_has_colours_unless_it_wants_none(
    studies: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert COLOUR.search(printed(OF_NAMES["show --details"], studies, 80))
    monkeypatch.setenv("NO_COLOR", "1")
    assert not COLOUR.search(printed(OF_NAMES["show --details"], studies, 80))


def test_consoles_are_made_in_one_place() -> None:
    made = {
        file.relative_to(ROOT).as_posix()
        for folder in ("scaling", "workers")
        for file in (ROOT / folder).rglob("*.py")  # tests make their own
        if re.search(r"\bConsole\(|from_markup|rich import print", file.read_text("utf-8"))
    }
    assert made == {"scaling/base/console.py"}


def test_text_that_is_no_rich_text_is_printed_as_it_is() -> None:
    file = io.StringIO()
    table = Table(f"{WORKLOAD}[b]", title=":pig:[b]", caption=":cow:[b]")
    table.add_row(VALUE)
    new_console(file=file).print(":cat:[b]", table)
    for name in (VALUE, f"{WORKLOAD}[b]", ":cat:[b]", ":pig:[b]", ":cow:[b]"):
        assert name in file.getvalue()


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
    shown.note(":pig:")
    shown.end()
    text = file.getvalue()
    assert not EMOJI.search(text)
    for name in (f"{WORKLOAD} [b]", ":dog:", ":pig:"):
        assert name in text


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", ":clown:"),
        ("plan", "--study", ":clown:.toml"),
        ("plan", "--arm", ":clown:"),
        ("run", "--path", ":clown:"),
        ("report", "study", "--to", ":clown:"),
        (":clown:",),
    ],
    ids=" ".join,
)
def test_an_error_is_a_line_with_the_name_as_it_was_given(
    arguments: tuple[str, ...], command: Command
) -> None:
    done = command(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert ":clown:" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_a_command_in_a_pipe_has_no_codes_and_writes_nothing(
    studies: Path, command: Command
) -> None:
    done = command("show", str(studies / "named"), "--details")
    assert (done.returncode, done.stderr) == (0, "")
    assert ESCAPE not in done.stdout
    assert ":bomb: :boom:[/]" in done.stdout
    assert [each.name for each in (studies / "named").iterdir()] == ["journal.jsonl"]
    refused = command("gate", str(studies / "named"), "--min-efficiency", "0.5").stderr
    assert all(name in refused for name in (WORKLOAD, ARM, LOOP))


@pytest.mark.slow
def test_an_encoding_that_lacks_letters_gets_others(
    studies: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Character for character: no table is bent by it, and no letter of ours is unknown."""

    def shown_in(encoding: str) -> list[str]:
        out = io.BytesIO()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding, write_through=True))
            assert command("show", str(studies / "ladder"), "--details").returncode == 0
            return out.getvalue().decode(encoding).splitlines()

    found, whole = shown_in("ascii"), shown_in("utf-8")
    assert list(map(len, found)) == list(map(len, whole))
    assert "?" not in "".join(found)
    assert any(re.match(r"1 +#+", line) for line in found)


def test_errors_can_be_printed_in_any_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, out)
    print_in_any_encoding()
    print("a · b – c × 1.5 ± 2 µs … é \udcff", end="")
    out.flush()
    assert isinstance(out.buffer, io.BytesIO)
    assert out.buffer.getvalue() == b"a - b - c x 1.5 ~ 2 us . ? ?"
    assert out.errors == HANDLER
