"""What was measured under load is on the page, in the tables and at the end of a run."""

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import read_journal
from scaling.journal.record import RunLine
from scaling.report.files import tables_markdown
from scaling.report.page.render import page
from scaling.report.tables.comparison import chapters
from scaling.report.tables.findings import times
from scaling.report.tables.notes import bounds
from scaling.report.tables.terminal import Chapters
from scaling.report.terminal.answer import LINES, NO_LATENCY, WIDTH, print_answer
from scaling.report.terminal.load_rows import load_lines
from scaling.run.progress import figure_of
from scaling.study.questions import OVER_PROCESSES, P99
from tests.support.fabricate import with_, write
from tests.support.html_outline import Outline
from tests.support.served import Served, journal, studied

CONFIGURATIONS = (("3.14t", "threads"), ("3.14", "threads"), ("3.14", "processes"))
OPEN = Served(
    configurations=CONFIGURATIONS,
    speeds={("3.14", "threads"): 900.0},
    workers=(1, 2),
    rates=(500.0, 800.0, 1280.0),
    blocks=2,
    window_s=4.0,
)
CLOSED = replace(OPEN, rates=(0.0,), blocks=6)


def results_of(folder: Path, made: Served) -> StudyResults:
    return StudyResults.of(studied(folder, made))


def answer(results: StudyResults) -> list[str]:
    file = io.StringIO()
    folder = Path("results/x")
    console = Console(file=file, width=WIDTH, highlight=False)
    print_answer(results, folder, folder / "report.html", console)
    return file.getvalue().splitlines()


@pytest.fixture(scope="module")
def open_loop(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    return results_of(tmp_path_factory.mktemp("open"), OPEN)


@pytest.fixture(scope="module")
def closed_loop(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    return results_of(tmp_path_factory.mktemp("closed"), CLOSED)


@pytest.mark.usefixtures("unrendered")
def test_the_page_has_a_part_of_its_own(open_loop: StudyResults) -> None:
    shown = Outline(page(open_loop)).root
    (part,) = [each for each in shown.all("section") if each.attributes.get("id") == "load"]
    assert len(part.all("svg")) == 3
    whole = [
        table
        for table in part.all("table")
        if not table.all("caption")[0].words.endswith(", continued")
    ]
    assert len(whole) == 3 * len(OPEN.workers) + 1  # and the ratios at one rate
    names = [each.attributes.get("id") for each in shown.all("section")]
    assert not {"curves", "sweeps", "laws"} & set(names)  # throughput was what was asked for


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_the_page_begins_with_the_answer_of_a_server(tmp_path: Path) -> None:
    results = results_of(tmp_path, replace(OPEN, blocks=6))
    (part,) = [
        e for e in Outline(page(results)).root.all("section") if e.attributes["id"] == "answer"
    ]
    ratio = next(
        each
        for each in results.ratios.where(OVER_PROCESSES, P99)
        if (each.of.parameters["rate_per_s"], each.of.workers) == (800.0, 2)
    )
    (row,) = part.all("tbody")[0].all("tr")
    assert row.words.startswith("serve: P99 at 800 requests/s, 2 threads on 3.14t over 2 processes")
    assert f"{times(ratio)} {ratio.bounds}" in row.words
    assert "serve: at 800 requests/s P99 of 2 threads on 3.14t is " in part.words
    assert "this server with this application under this load" in part.words
    assert len(part.all("svg")) == 1


@pytest.mark.usefixtures("unrendered")
def test_without_processes_the_answer_says_what_is_missing(tmp_path: Path) -> None:
    results = results_of(tmp_path, replace(OPEN, configurations=CONFIGURATIONS[:2]))
    assert "threads without the GIL are compared with processes" in page(results)


def test_every_configuration_is_in_the_tables(open_loop: StudyResults) -> None:
    text = tables_markdown(open_loop)
    file = io.StringIO()
    Console(file=file, width=WIDTH).print(Chapters(chapters(open_loop)))
    for shown in (text, file.getvalue()):
        for words in ("N = 1", "N = 2", "P99 latency ms", "max latency ms", "errors"):
            assert words in shown
        assert "1,280†" in shown  # threads with the GIL cannot answer as many
    assert all(cell_len(line) <= WIDTH for line in file.getvalue().splitlines())


def test_a_run_ends_with_latencies_at_the_middle_rate(open_loop: StudyResults) -> None:
    lines = answer(open_loop)
    assert len(lines) <= LINES
    assert "serve: P99 latency at 800 requests/s, N = 2 (range)" in lines
    for arm, model in CONFIGURATIONS:
        (line,) = [line for line in lines if line.startswith(f"  {arm} · {model} ")]
        assert " ms" in line
    assert any(line.startswith("Load of serve: server tcp, 16 connections") for line in lines)
    assert not any("faster" in line or "slower" in line for line in lines)


def test_one_block_has_no_range(tmp_path: Path) -> None:
    lines = answer(results_of(tmp_path, replace(OPEN, blocks=1)))
    assert "serve: P99 latency at 800 requests/s, N = 2 (single runs)" in lines


def test_where_cores_are_few_it_ends_with_cpu_time(tmp_path: Path) -> None:
    made = replace(OPEN, cores=2, generator_cpu_s=0.5e-3, busy_fraction=0.4)
    lines = answer(results_of(tmp_path, made))
    assert len(lines) <= LINES
    for arm, model in CONFIGURATIONS:
        (line,) = [line for line in lines if line.startswith(f"  {arm} · {model} ")]
        assert "µs a request" in line
    assert "Shared cores: N workers gain at most ×1." in " ".join(lines)


def test_the_bound_of_gains_is_one_of_every_configuration(tmp_path: Path) -> None:
    speeds = {CONFIGURATIONS[0]: 2_000.0}
    made = replace(OPEN, cores=2, generator_cpu_s=0.5e-3, busy_fraction=0.4, speeds=speeds)
    results = results_of(tmp_path, made)
    runs = results.frame.query("workers == 2")
    of_cells = runs.groupby(["arm", "model", "parameters"], observed=True)["gain_bound"].median()
    assert of_cells.nunique() > 1
    assert bounds(results.frame, results.sections)[2] == of_cells.max()


def test_where_cores_are_few_a_proven_ratio_is_beside_its_latency(tmp_path: Path) -> None:
    slow = {("3.14t", "threads"): 500.0}
    made = replace(OPEN, cores=2, generator_cpu_s=0.5e-3, busy_fraction=0.4, blocks=8, speeds=slow)
    found = results_of(tmp_path, replace(made, rates=(400.0, 600.0, 700.0)))
    (line,) = [line for line in answer(found) if line.startswith("  3.14t · threads ")]
    assert "× (" in line
    assert line.endswith("slower")
    (line,) = [line for line in answer(found) if line.startswith("  3.14 · processes ")]
    assert "CPU" in line


def test_where_cores_are_few_a_ratio_that_is_proven_the_same_is_beside_its_latency(
    tmp_path: Path,
) -> None:
    made = replace(OPEN, cores=2, generator_cpu_s=0.5e-3, busy_fraction=0.4, blocks=20, noise=0.0)
    found = results_of(tmp_path, replace(made, rates=(200.0,), workers=(2,), window_s=200.0))
    (line,) = [line for line in answer(found) if line.startswith("  3.14t · threads ")]
    assert line.endswith("same, within ±2 %")


def test_a_heading_is_as_long_as_there_is_room_for(open_loop: StudyResults) -> None:
    headings = [next(load_lines(open_loop, width, 20)) for width in (80, 45, 20)]
    assert headings == [
        "serve: P99 latency at 800 requests/s, N = 2 (range)",
        "serve: P99 latency at 800 requests/s, N = 2",
        "serve: P99 at 800/s, N = 2",
    ]


def test_as_many_configurations_are_shown_as_there_are_lines_for(
    open_loop: StudyResults,
) -> None:
    every = list(load_lines(open_loop, 80, 20))
    assert list(load_lines(open_loop, 80, len(every))) == every
    for missing in range(1, len(every)):
        lines = list(load_lines(open_loop, 80, len(every) - missing))
        assert len(lines) <= len(every) - missing
        assert sum("see the tables" in line for line in lines) == 1
        # The line that points to the tables takes the place of one.
        assert sum(" ms" in line for line in lines) == max(0, len(CONFIGURATIONS) - missing - 1)


def test_of_several_tables_as_much_is_shown_as_there_are_lines_for(tmp_path: Path) -> None:
    found = by_accept(tmp_path / "accept", OPEN)
    every = list(load_lines(found, 80, 20))
    assert sum("P99" in line for line in every) == len(POLICIES)
    shown = [list(load_lines(found, 80, room)) for room in range(len(every) + 1)]
    assert all(len(lines) <= room for room, lines in enumerate(shown))
    rows = [sum(" ms" in line for line in lines) for lines in shown]
    assert rows == sorted(rows)
    assert shown[-1] == every


@pytest.mark.usefixtures("unrendered")
def test_without_a_valid_run_it_says_so(tmp_path: Path) -> None:
    late = results_of(tmp_path, replace(OPEN, slip_s=1.0))
    assert not late.frame["valid"].any()
    assert NO_LATENCY in answer(late)
    assert page(late)


def test_a_closed_loop_ends_with_throughput_and_cpu(closed_loop: StudyResults) -> None:
    lines = answer(closed_loop)
    assert len(lines) <= LINES
    groups = [line for line in lines if "(ratio" in line]
    assert [line.partition(" (")[0] for line in groups] == [
        "Throughput of N threads on 3.14t",
        "CPU time per request, N threads over N processes",
    ]
    assert any("over N processes on 3.14" in line for line in lines)
    assert all(cell_len(line) <= WIDTH for line in groups)


def with_objective(folder: Path, made: Served) -> StudyResults:
    head, *runs = journal(made)
    lines = [with_(head, study={**head.study, "slo": ["p99<20ms"]}), *runs]  # type: ignore[union-attr]
    folder.mkdir(exist_ok=True)
    return StudyResults.of(read_journal(write(lines, folder / "journal.jsonl")))


@pytest.mark.slow
@pytest.mark.usefixtures("unrendered")
def test_capacities_are_printed_as_they_are_computed(tmp_path: Path) -> None:
    results = with_objective(tmp_path, replace(OPEN, blocks=6, rates=(400.0, 800.0, 1600.0)))
    lines = answer(results)
    assert len(lines) <= LINES
    assert "serve: capacity at p99<20ms, N = 2 (95 % interval)" in lines
    for each in results.capacities:
        if each.cell.workers == 2:
            name = f"  {each.cell.arm} · {each.cell.model} "
            (line,) = [line for line in lines if line.startswith(name)]
            assert each.text in line
    grids = [grid for chapter in chapters(results) for grid in chapter.grids]
    (grid,) = [grid for grid in grids if grid.title == "serve · asyncio: capacity at p99<20ms"]
    assert len(grid.rows) == len(results.capacities)
    assert grid.title in Outline(page(results)).root.words


def test_long_labels_stay_readable(tmp_path: Path) -> None:
    """What all rows share stands once; what differs is never cut."""
    lines = answer(by_accept(tmp_path / "n", replace(CLOSED, configurations=CONFIGURATIONS[::2])))
    assert len(lines) <= LINES
    assert "serve · asyncio:" in lines
    for policy in POLICIES:  # throughput and CPU time
        assert sum(f"accept={policy} " in line for line in lines) == 2
    one = answer(by_accept(tmp_path / "one", replace(CLOSED, workers=(2,))))
    assert len(one) <= LINES
    for policy in POLICIES:
        place = one.index(f" accept={policy}")
        assert one[place + 2].startswith("  2 threads on 3.14t over 2 processes on 3.14 ")
    assert not any("…" in line for line in [*lines, *one] if line.startswith(" "))


POLICIES = ("port", "acceptor", "shared", "reuseport")


def by_accept(folder: Path, made: Served) -> StudyResults:
    studies = [journal(replace(made, parameters={"accept": policy})) for policy in POLICIES]
    runs = [line for lines in studies for line in lines[1:]]
    folder.mkdir()
    return StudyResults.of(read_journal(write([studies[0][0], *runs], folder / "journal.jsonl")))


def test_the_line_of_a_run_has_its_latency_in_an_open_loop() -> None:
    def words(made: Served) -> set[str]:
        runs = [line for line in journal(made) if isinstance(line, RunLine)]
        return {re.sub(r"[\d.,]+ ms|^[\d.,]+", "…", figure_of(run, "requests")) for run in runs}

    every = {f"P99 … at {rate} requests/s" for rate in ("500", "800", "1,280")}
    assert words(replace(OPEN, window_s=5.0)) == every
    few = replace(OPEN, rates=(500.0,), window_s=1.0)
    assert words(few) == {"P50 … at 500 requests/s"}
    assert words(CLOSED) == {"… requests/s"}
