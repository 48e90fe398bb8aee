"""What any command prints: a snapshot of each at 80 columns. It fits 60 and 120 columns, too, and
has names as they are; a pipe, a terminal with NO_COLOR and one in ASCII get what they can show.
"""

import io
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.cells import cell_len
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from scaling.analysis.tables.study import Study, read
from scaling.base.console import new_console
from scaling.cli import HANDLER, print_in_any_encoding
from scaling.journal.record import RunLine
from scaling.machine import snapshot as machine
from scaling.machine.doctor import examine, report
from scaling.report.compare import compare
from scaling.report.explain import explain
from scaling.report.gate import gate
from scaling.report.interpreters import interpreters_table
from scaling.report.output import print_answer, show
from scaling.run.progress import Counts, LiveLine, PlainLines
from scaling.run.time_left import Left
from scaling.study.plan.table import plan_view
from tests.support.fake_builds import interpreter
from tests.support.once import made_once
from tests.support.plans import planned
from tests.support.runs import crashed, with_readings
from tests.support.served_studies import FakeAppStudy, FakeServedStudy
from tests.support.studies import FakeStudy, with_settings

WIDTHS = (60, 80, 120)
ESCAPE = "\x1b"
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3|4|9|10)[0-8]")
EMOJI = re.compile("[\U0001f000-\U0001faff]")
# Paths, commands and addresses are there to be copied: no terminal breaks them.
TO_COPY = re.compile(r"\bscaling [a-z]+ |--preset |https?://|/\S+/")

# Rich would turn `:smile:` into an emoji, and `[red]` into a colour.
NAMES = WORKLOAD, PARAMETER, VALUE, ARM, LOOP = (
    *(":smile:", ":cat:", "日本語:dog:[red]", "3.14:bug:", ":fire:"),
)


def failing(run: RunLine) -> RunLine:
    return crashed(run) if run.block == 0 and run.cell.workers == 1 else run


NAMED = FakeStudy(
    name=":robot:",
    variants={WORKLOAD: [{PARAMETER: VALUE}, {PARAMETER: ":pig:" * 12}]},
    arms=("3.14t", ARM),
    loops=("asyncio", LOOP),
    models=("threads", "processes"),
    workers=(1, 2),
    blocks=6,
    noise=0.05,
    ticks=4,
    change=failing,
)
LADDER = FakeStudy(
    arms=("3.14", "3.14t"),
    models=("threads", "processes"),
    workers=(1, 2),
    blocks=8,
    ticks=4,
    aa_pairs=True,
)


def make_studies(folder: Path) -> None:
    """One of each kind that a command prints."""
    for name, study in {
        "named": NAMED,
        "elsewhere": replace(LADDER, seed=3, head={"machine__id": "b"}),
        "ladder": LADDER,
        "later": replace(LADDER, seed=2, noise=0.1),
        "remedies": with_settings({"nogc": 1.2, "deferred": 1.0}),
        "readings": FakeStudy(
            workers=(1, 2, 64), cores=64, logical=128, blocks=6, ticks=4, change=with_readings
        ),
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


@cache
def study_in(folder: Path) -> Study:
    return read(folder)


@pytest.fixture(autouse=True)
def in_the_folder(studies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths that are printed are short, and each study is read once for all widths."""
    monkeypatch.chdir(studies)
    monkeypatch.setattr("scaling.report.files.read_journal", Path)
    monkeypatch.setattr("scaling.report.files.Study", SimpleNamespace(of=study_in))


def print_doctor(to: Console) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machine, "survey", lambda: [interpreter("3.14"), interpreter("3.14t")])
        to.print(report(examine(machine.look(lambda _s: None))))


def print_plan(to: Console) -> None:
    to.print(
        plan_view(planned(workload=("echo,compute",), loop=("asyncio,uvloop",), controls=None))
    )


def print_gate(to: Console) -> None:
    bounds = {"min_efficiency": 0.5, "max_regression": 0.1}
    gate(Path("later"), bounds, {}, to, against=Path("ladder"), environment={})


type Print = Callable[[Console], object]

PRINTED: dict[str, Print] = {
    "run": lambda to: print_answer(study_in(Path("ladder")), to),
    "run of an open loop": lambda to: print_answer(study_in(Path("open-loop")), to),
    "app": lambda to: print_answer(study_in(Path("app")), to),
    "remedies": lambda to: show(Path("remedies"), to),
    "show": lambda to: show(Path("named"), to),
    "show --details": lambda to: show(Path("ladder"), to, details=True),
    "compare": lambda to: compare([Path("ladder")], None, to),
    "compare machines": lambda to: compare([Path("ladder"), Path("elsewhere")], None, to),
    "compare programs": lambda to: compare([Path("shop"), Path("inn")], None, to),
    "compare studies": lambda to: compare([Path("ladder"), Path("later")], None, to),
    "explain": lambda to: explain(Path("readings"), to, details=True),
    "gate --against": print_gate,
    "interpreters": lambda to: to.print(interpreters_table([interpreter("3.14t", pgo=True)])),
}
OF_THE_MACHINE: dict[str, Print] = {"plan": print_plan, "doctor": print_doctor}


def printed(show: Print, width: int) -> str:
    file = io.StringIO()
    console = new_console(file=file)
    console.width = width
    show(console)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


@pytest.mark.parametrize("name", PRINTED | OF_THE_MACHINE)
def test_what_is_printed(name: str, snapshot: SnapshotAssertion) -> None:
    """Every line fits, and a pipe gets no codes."""
    texts = {width: printed((PRINTED | OF_THE_MACHINE)[name], width) for width in WIDTHS}
    if name in PRINTED:
        assert texts[80] == snapshot
    for width, text in texts.items():
        assert text.strip()
        assert ESCAPE not in text
        wide = [line for line in text.splitlines() if cell_len(line) > width]
        assert [line for line in wide if not TO_COPY.search(line)] == [], width


def test_names_are_printed_as_they_are() -> None:
    text = printed(lambda to: show(Path("named"), to, details=True), 400)
    assert not EMOJI.search(text)
    assert [each for each in NAMES if each not in text] == []


def test_a_terminal_has_colours_unless_it_wants_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert COLOUR.search(printed(PRINTED["show --details"], 80))
    monkeypatch.setenv("NO_COLOR", "1")
    assert not COLOUR.search(printed(PRINTED["show --details"], 80))


@pytest.mark.parametrize("kind", [PlainLines, LiveLine])
def test_progress_prints_names_as_they_are(kind: type[PlainLines] | type[LiveLine]) -> None:
    file = io.StringIO()
    console = new_console(file=file)
    console._force_terminal = console.is_interactive = kind is LiveLine
    shown = kind(console)
    shown.begin(lambda: Counts(0, 2))
    shown.running(f"{WORKLOAD} [b]", Left(3.0))
    shown.finished(f"{WORKLOAD} [b]", "1 :dog:/s", Left(2.0))
    shown.invalid(":bomb:", again=True)
    shown.block_done(0, ":cat:")
    shown.note(":pig:")
    shown.end()
    text = file.getvalue()
    assert not EMOJI.search(text)
    own = [":cat:"] if kind is PlainLines else []  # a live line has no line for a block
    for name in (f"{WORKLOAD} [b]", ":dog:", ":pig:", *own):
        assert name in text


def test_an_encoding_that_lacks_letters_gets_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Character for character: no table is bent by it, and no letter of ours is unknown."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, out)
    print_in_any_encoding()
    print("a · b – c × 1.5 ± 2 µs … é \udcff", end="")
    out.flush()
    assert isinstance(out.buffer, io.BytesIO)
    assert out.buffer.getvalue() == b"a - b - c x 1.5 ~ 2 us . ? ?"
    shown = printed(PRINTED["show --details"], 80)
    found = shown.encode("ascii", HANDLER)
    assert len(found) == len(shown)
    assert b"?" not in found
