"""`scaling show` prints a study at 80 columns, in a pipe, without colour, in any encoding.

It begins with the answer and has one table for each workload; `--details` has all else.
"""

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from scaling.analysis.statistics.estimate import median
from scaling.cli.encoding import HANDLER, print_in_any_encoding
from scaling.journal.record import StudyLine
from scaling.report.terminal.pictures import FULL, MEDIAN, SHADED, SLIVER, bar
from scaling.report.terminal.show import show
from tests.support import served
from tests.support.cli import Command
from tests.support.fabricate import Made, journal, with_, write

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


def shown(results: Path, width: int, *, details: bool = True) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    show(results, console, details=details)
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
            assert command("show", str(results), "--details").returncode == 0
            return out.getvalue().decode(encoding)

    return shown_in


@pytest.mark.parametrize("width", [80, 120, 200])
def test_tables_curves_and_comparison_fit_the_width_of_the_terminal(
    width: int, results: Path
) -> None:
    text = shown(results, width)
    assert max(map(len, text.splitlines())) <= width
    parts = ("THE ANSWER", "MiB PSS per extra worker", "round trips/s against N", "The answer")
    told = " ".join(text.split())
    places = [told.index(part) for part in parts]
    assert places == sorted(places)


@pytest.fixture
def of_everything(tmp_path: Path) -> Path:
    """Controls first, parameters that vary, two loops, and more workers than there are CPUs."""
    made = Made(
        variants={
            "compute": [{}],
            "shared": [{"sharing": "attribute-write"}],
            "echo": [{"payload_bytes": 1024}, {"payload_bytes": 4096}],
            "spawn": [{}],
        },
        arms=("3.14+mimalloc", "3.14t"),
        loops=("asyncio", "uvloop"),
        models=("threads", "processes"),
        workers=(1, 2, 4),
        blocks=6,
        cores=2,
        logical=2,
    )
    write(journal(made), tmp_path / "journal.jsonl")
    return tmp_path


def headings(text: str) -> list[str]:
    return re.findall(r"^(\S+) · weak sizing, N = 2", text, re.MULTILINE)


def test_the_answer_is_followed_by_one_table_for_each_workload_controls_last(
    of_everything: Path,
) -> None:
    *lines, last = shown(of_everything, 80, details=False).splitlines()
    assert lines[0] == "THE ANSWER of made"
    assert last == f"More: scaling show {of_everything} --details"
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert headings(text) == ["echo", "spawn", "compute", "shared"]
    echo = text.partition("echo · weak sizing")[2].partition("spawn · weak sizing")[0]
    configurations = 2 * 2 * 2 * 2  # parameters, loops, arms, models
    assert len(re.findall(r"^payload_bytes=(1024|4096)", echo, re.MULTILINE)) == configurations
    assert len(re.findall("N = 1 +N = 2", echo)) == 1
    assert "N = 4" not in echo


def test_what_is_alike_in_a_table_is_in_its_title(of_everything: Path) -> None:
    made = Made(arms=("3.14", "3.14t"), workers=(1, 2), blocks=6, cores=2, logical=2)
    write(journal(made), of_everything / "journal.jsonl")
    text = shown(of_everything, 80, details=False)
    assert "\necho · weak sizing, N = 2, asyncio\n" in text
    assert re.search(r"^configuration +N = 1 +N = 2 +extra worker +speed-up", text, re.MULTILINE)


def test_a_wider_terminal_has_more_figures_in_the_same_table(of_everything: Path) -> None:
    narrow, wide = (shown(of_everything, width, details=False) for width in (80, 160))
    assert "CPU µs/op" not in narrow
    assert "CPU µs/op" in wide
    assert headings(narrow) == headings(wide)


def test_of_an_open_loop_it_is_what_clients_saw(tmp_path: Path) -> None:
    rates = (200.0, 400.0, 1_300.0)
    served.studied(tmp_path, served.Served(workers=(1, 2), rates=rates, blocks=6, window_s=10.0))
    text = shown(tmp_path, 80, details=False)
    assert "under load, N = 2, at 400/s" in " ".join(text.split())
    assert re.search(r"^configuration +P50 latency ms +P99 latency ms", text, re.MULTILINE)


def test_of_remedies_it_is_what_each_brings(tmp_path: Path) -> None:
    arms = ("3.14t", "3.14t+nogc", "3.14t+deferred")
    first, *runs = journal(Made(arms=arms, workers=(1, 2), blocks=6))
    assert isinstance(first, StudyLine)
    asked = with_(first, study={**first.study, "primary": ["setting"]})
    write([asked, *runs], tmp_path / "journal.jsonl")
    lines = shown(tmp_path, 80, details=False).replace("\N{NO-BREAK SPACE}", " ").splitlines()
    assert re.match(r"remedy +N = 1 +N = 2", lines[1])
    assert max(map(len, lines[:-1])) <= 80


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
    done = command("show", "study", "--details")
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
