"""`scaling show` prints a study at 80 columns, in a pipe, without colour, in any encoding."""

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from scaling.analysis.statistics.estimate import median
from scaling.cli.encoding import HANDLER, print_in_any_encoding
from scaling.report.terminal.bars import FULL, MEDIAN, SHADED, SLIVER, bar
from scaling.report.terminal.show import show
from tests.support.cli import Command
from tests.support.fabricate import Made, journal, write

ESCAPE = "\x1b["
COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3|4|9|10)[0-8]")
VERY_LONG = {"a_parameter_with_a_rather_long_name": "and a value that is as long as this one is"}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "study"
    folder.mkdir()
    made = Made(
        variants={"echo": [{"payload_bytes": 1024}, VERY_LONG]},
        arms=("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t"),
        models=("threads", "processes"),
        workers=(1, 2, 4),
        noise=0.1,
    )
    write(journal(made), folder / "journal.jsonl")
    return folder


def shown(results: Path, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    show(results, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.fixture
def shown_in(
    results: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """Gives what the command prints where the output has an encoding, with such variables."""

    def shown_in(encoding: str, **variables: str) -> str:
        out = io.BytesIO()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding, write_through=True))
            for name, value in variables.items():
                patch.setenv(name, value)
            assert command("show", str(results)).returncode == 0
            return out.getvalue().decode(encoding)

    return shown_in


@pytest.mark.parametrize("width", [80, 120, 200])
def test_tables_curves_and_comparison_fit_the_width_of_the_terminal(
    width: int, results: Path
) -> None:
    text = shown(results, width)
    assert max(map(len, text.splitlines())) <= width
    parts = ("MiB RSS per extra worker", "round trips/s against N", "The answer")
    told = " ".join(text.split())
    places = [told.index(part) for part in parts]
    assert places == sorted(places)


def test_every_cell_has_a_bar_with_its_figure(results: Path) -> None:
    text = shown(results, 80)
    bars = [line for line in text.splitlines() if re.match(r"[124]\S* +[█▏]", line)]
    assert len(bars) == 2 * 4 * 2 * 3  # variants, arms, models, Ns
    assert all(re.search(r" [\d,]+ +[\d,]+–[\d,]+$", line.rstrip()) for line in bars)
    assert f"{MEDIAN} median; {SHADED} and beside it: range of 3 runs" in text


def test_a_bar_is_as_long_as_its_figure() -> None:
    sure = median([50.0] * 3, "")
    assert bar(sure, 100, 40) == FULL * 20
    assert bar(median([100.0] * 3, ""), 100, 40) == FULL * 40
    wide = bar(median([25.0, 50.0, 100.0], ""), 100, 40)
    assert wide == FULL * 10 + SHADED * 10 + MEDIAN + SHADED * 19
    skewed = bar(median([50.0, 100.0, 100.0], ""), 100, 40)
    assert skewed == FULL * 20 + SHADED * 19 + MEDIAN
    assert bar(median([0.001], ""), 100, 40) == SLIVER
    assert bar(median([0.0], ""), 100, 40) == bar(median([], ""), 100, 40) == ""
    assert bar(median([0.0], ""), 0, 40) == ""


@pytest.mark.slow
def test_a_pipe_gets_no_codes_and_nothing_is_written(
    results: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    done = command("show", "study")
    assert (done.returncode, done.stderr) == (0, "")
    assert ESCAPE not in done.stdout
    assert FULL in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert [each.name for each in results.iterdir()] == ["journal.jsonl"]


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_an_encoding_that_lacks_letters_gets_others(
    encoding: str, shown_in: Callable[..., str]
) -> None:
    """Character for character: no table is bent by it, and no letter of ours is unknown."""
    found, whole = shown_in(encoding), shown_in("utf-8")
    assert list(map(len, found.splitlines())) == list(map(len, whole.splitlines()))
    assert found.count("?") == whole.count("?")
    assert re.search(r"^1 +#+", found, re.MULTILINE)


@pytest.mark.slow
def test_no_color_is_respected_on_a_terminal(shown_in: Callable[..., str]) -> None:
    terminal = {"FORCE_COLOR": "1", "TERM": "xterm-256color"}
    assert COLOUR.search(shown_in("utf-8", **terminal, NO_COLOR=""))
    assert not COLOUR.search(shown_in("utf-8", **terminal, NO_COLOR="1"))


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


@pytest.mark.slow
def test_what_is_not_there_gets_a_one_line_error(command: Command) -> None:
    done = command("show", "nowhere")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("scaling: nowhere: no such file or folder")
    assert len(done.stderr.splitlines()) == 1
