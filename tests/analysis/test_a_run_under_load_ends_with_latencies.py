"""What was measured under load is at the end of a run, in the tables and on the page."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from scaling.analysis.results import StudyResults
from scaling.journal.record import WorkloadFacts
from scaling.report.files import tables_markdown
from scaling.report.output import print_answer
from scaling.report.page.render import page
from scaling.report.tables.comparison import chapters
from scaling.report.tables.findings import times
from scaling.report.tables.grid import WIDTH
from scaling.report.tables.notes import bounds
from scaling.report.terminal.answer import LINES, NO_LATENCY
from scaling.report.terminal.load_rows import load_lines
from scaling.run.progress import figure_of
from scaling.study.questions import OVER_PROCESSES, P99
from tests.support.html_outline import Element, Outline
from tests.support.printing import printed_by
from tests.support.served_studies import FakeServedStudy
from tests.support.studies import in_memory
from tests.support.unrendered import unrendered

CONFIGURATIONS = (("3.14t", "threads"), ("3.14", "threads"), ("3.14", "processes"))
OPEN = FakeServedStudy(
    configurations=CONFIGURATIONS,
    answers_per_s={("3.14", "threads"): 900.0},
    rates=(500.0, 800.0, 1280.0),
    blocks=2,
    window_s=4.0,
)
CLOSED = replace(OPEN, rates=(0.0,), blocks=6)
WITH_OBJECTIVE = replace(OPEN, blocks=6, options={"slo": ["p99<20ms"]})
SHARED_CORES = replace(OPEN, cores=2, logical=2, generator_cpu_s=0.5e-3, busy_fraction=0.4)
SLOW = {CONFIGURATIONS[0]: 500.0}
POLICIES = ("port", "acceptor", "shared", "reuseport")


def answer(results: StudyResults) -> list[str]:
    folder = Path("results/x")
    lines = printed_by(lambda to: print_answer(results, folder, to), WIDTH).splitlines()
    assert len(lines) <= LINES
    return lines


def line_of(lines: list[str], arm: str, model: str) -> str:
    (line,) = [line for line in lines if line.startswith(f"  {arm} · {model} ")]
    return line


@cache
def parts() -> dict[str, Element]:
    """The sections of the page of a study with an objective."""
    with unrendered():
        shown = Outline(page(WITH_OBJECTIVE.results)).root
    return {each.attributes["id"]: each for each in shown.all("section")}


def test_it_ends_with_latencies_at_the_middle_rate() -> None:
    lines = answer(OPEN.results)
    assert "serve: P99 latency at 800 requests/s, N = 2 (range)" in lines
    assert all(" ms" in line_of(lines, *each) for each in CONFIGURATIONS)
    assert any(line.startswith("Load of serve: server tcp, 16 connections") for line in lines)
    assert not any("faster" in line or "slower" in line for line in lines)


def test_one_block_has_no_range() -> None:
    lines = answer(replace(OPEN, blocks=1, workers=(2,)).results)
    assert "serve: P99 latency at 800 requests/s, N = 2 (single runs)" in lines


def test_where_cores_are_few_it_ends_with_cpu_time_and_the_bound_of_gains() -> None:
    """The bound is one of every configuration."""
    results = replace(SHARED_CORES, answers_per_s={CONFIGURATIONS[0]: 2_000.0}).results
    lines = answer(results)
    assert all("µs a request" in line_of(lines, *each) for each in CONFIGURATIONS)
    assert "Shared cores: N workers gain at most ×1." in " ".join(lines)
    runs = results.frame.query("workers == 2")
    of_cells = runs.groupby(["arm", "model", "parameters"], observed=True)["gain_bound"].median()
    assert of_cells.nunique() > 1
    assert bounds(results.frame, results.sections)[2] == of_cells.max()


@pytest.mark.parametrize(
    ("changes", "ends"),
    [
        (
            {"blocks": 8, "answers_per_s": SLOW, "rates": (400.0, 600.0, 700.0)},
            "slower",
        ),
        (
            {"blocks": 20, "speed_noise": 0.0, "rates": (200.0,), "window_s": 200.0},
            "same, within ±2 %",
        ),
    ],
)
def test_where_cores_are_few_a_proven_ratio_is_beside_its_latency(
    changes: dict[str, Any], ends: str
) -> None:
    made = replace(SHARED_CORES, workers=(2,), configurations=CONFIGURATIONS[::2], **changes)
    lines = answer(made.results)
    assert line_of(lines, "3.14t", "threads").endswith(ends)
    assert "CPU" in line_of(lines, "3.14", "processes")


def test_as_much_is_shown_as_there_is_room_for() -> None:
    assert [next(load_lines(OPEN.results, width, 20)) for width in (80, 45, 20)] == [
        "serve: P99 latency at 800 requests/s, N = 2 (range)",
        "serve: P99 latency at 800 requests/s, N = 2",
        "serve: P99 at 800/s, N = 2",
    ]
    every = list(load_lines(OPEN.results, 80, 20))
    assert list(load_lines(OPEN.results, 80, len(every))) == every
    for missing in range(1, len(every)):
        lines = list(load_lines(OPEN.results, 80, len(every) - missing))
        assert len(lines) <= len(every) - missing
        assert sum("see the tables" in line for line in lines) == 1
        # The line that points to the tables takes the place of one.
        assert sum(" ms" in line for line in lines) == max(0, len(CONFIGURATIONS) - missing - 1)


def by_accept(made: FakeServedStudy) -> StudyResults:
    studies = [replace(made, parameters={"accept": policy}) for policy in POLICIES]
    runs = [run for study in studies for run in study.runs]
    return StudyResults.of(in_memory([made.first_line, *runs]))


def test_a_closed_loop_ends_with_throughput_and_cpu_time() -> None:
    lines = answer(CLOSED.results)
    groups = [line for line in lines if "(ratio" in line]
    assert [line.partition(" (")[0] for line in groups] == [
        "Throughput of N threads on 3.14t",
        "CPU time per request, N threads over N processes",
    ]
    assert any("over N processes on 3.14" in line for line in lines)
    assert all(cell_len(line) <= WIDTH for line in groups)


@pytest.mark.parametrize("workers", [(1, 2), (2,)])
def test_long_labels_stay_readable(workers: tuple[int, ...]) -> None:
    """What all rows share stands once; what differs is never cut."""
    made = replace(CLOSED, configurations=CONFIGURATIONS[::2], workers=workers)
    lines = answer(by_accept(made))
    assert not any("…" in line for line in lines if line.startswith(" "))
    for policy in POLICIES:
        assert sum(f"accept={policy}" in line for line in lines) >= 1
        if workers == (2,):
            place = lines.index(f" accept={policy}")
            assert lines[place + 1].startswith("  2 threads on 3.14t over 2 processes on 3.14 ")
        else:
            assert "serve · asyncio:" in lines


@pytest.mark.usefixtures("unrendered")
def test_without_a_valid_run_it_says_so() -> None:
    late = replace(OPEN, slip_s=1.0, workers=(2,)).results
    assert not late.frame["valid"].any()
    assert NO_LATENCY in answer(late)
    assert page(late)


def test_capacities_are_printed_as_they_are_computed() -> None:
    results = WITH_OBJECTIVE.results
    lines = answer(results)
    assert "serve: capacity at p99<20ms, N = 2 (95 % interval)" in lines
    for each in results.capacities:
        if each.cell.workers == 2:
            assert each.text in line_of(lines, each.cell.arm, each.cell.model)
    grids = [grid for chapter in chapters(results) for grid in chapter.grids]
    (grid,) = [grid for grid in grids if grid.title == "serve · asyncio: capacity at p99<20ms"]
    assert len(grid.rows) == len(results.capacities)
    assert grid.title in parts()["load"].words


def test_every_configuration_is_in_the_tables() -> None:
    text = tables_markdown(OPEN.results)
    for words in ("N = 1", "N = 2", "P99 latency ms", "max latency ms", "errors"):
        assert words in text
    assert "1,280†" in text  # threads with the GIL cannot answer as many


def test_the_page_has_a_part_of_its_own() -> None:
    load = parts()["load"]
    assert len(load.all("svg")) == 3
    captions = [each.words for each in load.all("caption")]
    whole = [words for words in captions if not words.endswith(", continued")]
    assert len(whole) == 3 * len(OPEN.workers) + 2  # and capacities, and the ratios at one rate
    assert not {"curves", "sweeps", "laws"} & parts().keys()  # throughput was what was asked for


def test_the_page_begins_with_the_answer_of_a_server() -> None:
    results = WITH_OBJECTIVE.results
    found = parts()["answer"]
    ratio = next(
        each
        for each in results.ratios.where(OVER_PROCESSES, P99)
        if (each.of.parameters["rate_per_s"], each.of.workers) == (800.0, 2)
    )
    (row,) = found.all("tbody")[0].all("tr")
    assert row.words.startswith("serve: P99 at 800 requests/s, 2 threads on 3.14t over 2 processes")
    assert f"{times(ratio)} {ratio.bounds}" in row.words
    assert "serve: at 800 requests/s P99 of 2 threads on 3.14t is " in found.words
    assert "this server with this application under this load" in found.words


@pytest.mark.usefixtures("unrendered")
def test_without_processes_the_answer_says_what_is_missing() -> None:
    made = replace(OPEN, configurations=CONFIGURATIONS[:2])
    assert "threads without the GIL are compared with processes" in page(made.results)


def test_the_line_of_a_run_has_its_latency_in_an_open_loop() -> None:
    facts = WorkloadFacts(path="serve", operation="deliveries", sent="messages")

    def words(made: FakeServedStudy) -> set[str]:
        figures = [figure_of(run, facts) for run in made.runs]
        return {re.sub(r"[\d.,]+ ms|^[\d.,]+", "…", each) for each in figures}

    every = {f"P99 … at {rate} messages/s" for rate in ("500", "800", "1,280")}
    assert words(replace(OPEN, window_s=5.0, blocks=1)) == every
    assert words(replace(OPEN, rates=(500.0,), window_s=1.0)) == {"P50 … at 500 messages/s"}
    assert words(CLOSED) == {"… deliveries/s"}
