"""`scaling show` begins with the answer and has one table for each workload; `--details` has all
else.
"""

import re
from functools import cache
from pathlib import Path

import pytest

from scaling.analysis.statistics.estimate import median
from scaling.report.terminal.answer import FULL, MEDIAN, SHADED, SLIVER, bar
from scaling.report.terminal.show import show
from tests.support.printing import printed_by
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import FakeStudy, with_settings

# Controls, parameters that vary, two loops, and more workers than there are CPUs.
MADE = FakeStudy(
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
    ticks=4,
)


@pytest.fixture(scope="module")
def of_everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    MADE.write(folder)
    return folder


@cache
def shown(results: Path, width: int = 80, *, details: bool = False) -> str:
    return printed_by(lambda console: show(results, console, details=details), width)


def headings(text: str) -> list[str]:
    return re.findall(r"^(\S+) · weak sizing, N = 2", text, re.MULTILINE)


def test_the_answer_is_followed_by_one_table_for_each_workload_controls_last(
    of_everything: Path,
) -> None:
    text = shown(of_everything)
    lines = text.splitlines()
    assert lines[0] == "THE ANSWER of made"
    assert lines[-1] == f"More: scaling show {of_everything} --details"
    assert headings(text) == ["echo", "spawn", "compute", "shared"]
    echo = text.partition("echo · weak sizing")[2].partition("spawn · weak sizing")[0]
    configurations = 2 * 2 * 2 * 2  # parameters, loops, arms, models
    assert len(re.findall(r"^payload_bytes=(1024|4096)", echo, re.MULTILINE)) == configurations
    assert len(re.findall("N = 1 +N = 2", echo)) == 1
    assert "N = 4" not in echo


def test_a_wider_terminal_has_more_figures_in_the_same_table(of_everything: Path) -> None:
    narrow, wide = shown(of_everything), shown(of_everything, 160)
    assert "CPU µs/op" not in narrow
    assert "CPU µs/op" in wide
    assert headings(narrow) == headings(wide)


def test_what_is_alike_in_a_table_is_in_its_title(tmp_path: Path) -> None:
    FakeStudy(arms=("3.14", "3.14t"), workers=(1, 2), blocks=6, ticks=4).write(tmp_path)
    text = shown(tmp_path)
    assert "\necho · weak sizing, N = 2, asyncio\n" in text
    assert re.search(r"^configuration +N = 1 +N = 2 +extra worker +speed-up", text, re.MULTILINE)


def test_of_an_open_loop_it_is_what_clients_saw(tmp_path: Path) -> None:
    FakeServedStudy(rates=(200.0, 400.0, 1_300.0), blocks=6).write(tmp_path)
    text = shown(tmp_path)
    assert "under load, N = 2, at 400/s" in " ".join(text.split())
    assert re.search(r"^configuration +P50 latency ms +P99 latency ms", text, re.MULTILINE)


def test_of_remedies_it_is_what_each_brings(tmp_path: Path) -> None:
    with_settings({"nogc": 1.2, "deferred": 1.0}).write(tmp_path)
    assert "2 threads on 3.14t+nogc over 3.14t " in shown(tmp_path).split("\n\n")[0]


def test_the_details_have_tables_a_bar_for_each_cell_and_the_comparison(tmp_path: Path) -> None:
    models = ("threads", "processes")
    FakeStudy(arms=("3.14", "3.14t"), models=models, noise=0.1, ticks=4).write(tmp_path)
    text = shown(tmp_path, details=True)
    told = " ".join(text.split())
    parts = ("THE ANSWER", "MiB PSS per extra worker", "round trips/s against N", "The answer")
    places = [told.index(part) for part in parts]
    assert places == sorted(places)
    bars = [line for line in text.splitlines() if re.match(r"[124]\S* +[█▏]", line)]
    assert len(bars) == 2 * 2 * 3  # arms, models, Ns
    assert all(re.search(r" [\d,]+ +[\d,]+–[\d,]+$", line.rstrip()) for line in bars)
    assert f"{MEDIAN} median; {SHADED} and beside it: range of 3 runs" in text


def test_a_bar_is_as_long_as_its_figure() -> None:
    assert bar(median([50.0] * 3, ""), 100, 40) == FULL * 20
    assert bar(median([100.0] * 3, ""), 100, 40) == FULL * 40
    wide = bar(median([25.0, 50.0, 100.0], ""), 100, 40)
    assert wide == FULL * 10 + SHADED * 10 + MEDIAN + SHADED * 19
    skewed = bar(median([50.0, 100.0, 100.0], ""), 100, 40)
    assert skewed == FULL * 20 + SHADED * 19 + MEDIAN
    assert bar(median([0.001], ""), 100, 40) == SLIVER
    assert bar(median([0.0], ""), 100, 40) == bar(median([], ""), 100, 40) == ""
    assert bar(median([0.0], ""), 0, 40) == ""
