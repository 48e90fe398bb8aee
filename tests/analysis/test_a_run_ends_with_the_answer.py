"""The end of `scaling run`: at most 24 lines of 80 columns, whatever was measured."""

import io
import re
import shlex
from itertools import product
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from scaling.analysis.results import StudyResults
from scaling.base.console import new_console
from scaling.base.errors import ScalingError
from scaling.journal.protected_write import try_writing
from scaling.journal.record import Line, ParameterValue, RunLine
from scaling.report.output import finish, print_answer, write_again
from scaling.report.tables.grid import WIDTH
from scaling.report.terminal.answer import LINES, MORE, wrapped
from scaling.run.progress import PlainLines
from scaling.run.time_left import Left
from tests.support.printing import printed_by
from tests.support.published import FOLDERS, name_of, results_of
from tests.support.runs import Change, crashed, with_, with_speed
from tests.support.studies import FakeStudy, Variants, in_memory

HOSTILE = "[red]:boom:|`\u202e日本語" * 6
RATIO = r"\d\.\d+ \(\d\.\d+–\d\.\d+\)"


def printed(
    results: StudyResults, width: int = WIDTH, folder: Path = Path("results/x")
) -> list[str]:
    return printed_by(lambda to: print_answer(results, folder, to), width).splitlines()


def fits(lines: list[str], width: int = WIDTH) -> bool:
    """Paths and commands, in the last three lines, are never cut."""
    return len(lines) <= LINES and all(cell_len(line) <= width for line in lines[:-3])


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_every_published_study_has_a_first_screen(folder: Path) -> None:
    results = results_of(folder)
    lines = printed(results)
    assert fits(lines), "\n".join(lines)
    assert lines[-3] == "page:   results/x/report.html"
    assert results.is_of_application or any(line.startswith("Noise") for line in lines)


def test_it_has_ratios_memory_controls_noise_a_curve_and_commands_to_paste() -> None:
    arms, models = ("3.14", "3.14t"), ("threads", "processes")
    study = FakeStudy(arms=arms, models=models, workers=(1, 2), blocks=8, aa_pairs=True)
    folder = "my results/it's & $x"
    lines = printed(study.results, folder=Path(folder))
    text = "\n".join(lines)
    for expected in (
        "Throughput of N threads on 3.14t (ratio, 95 % interval)",
        "over one",
        "over N processes on 3.14",
        "Over one: faster in all cases. MiB (PSS) per extra thread and per extra process.",
        "Controls missing",
        "Noise of equal cells (A/A pairs): ±",
        "echo, asyncio · 3.14t · threads: round trips/s at each N",
        "█",
    ):
        assert expected in text
    commands = [
        shlex.split(line.partition(":")[2].partition(" (")[0])
        for line in lines
        if line.startswith(("tables:", "next:"))
    ]
    assert ["scaling", "show", folder, "--details"] in commands
    assert ["scaling", "explain", folder] in commands


def without_gain(run: RunLine) -> RunLine:
    """N workers do the work of one."""
    return with_speed(run, 1 / run.cell.workers)


def test_verdicts_over_one_are_counted_with_those_of_lines_that_are_left_out() -> None:
    payloads = [{"payload_bytes": 2**size} for size in range(14)]

    def as_asked(run: RunLine) -> RunLine:
        is_large = int(str(run.cell.parameters.get("payload_bytes", 0))) >= 2**7
        return without_gain(run) if is_large else run

    study = FakeStudy(
        variants={"echo": payloads},
        arms=("3.14", "3.14t"),
        models=("threads", "processes"),
        workers=(1, 2),
        blocks=8,
        change=as_asked,
    )
    text = "\n".join(printed(study.results))
    assert "and 4 more lines: see the tables" in text
    assert "faster in 7 of 14 cases" in text


BOTH = FakeStudy(
    variants={"echo": [{}], "stream": [{}]},
    arms=("3.14", "3.14t"),
    models=("threads", "processes"),
    workers=(1, 2),
)


def test_a_workload_with_one_n_has_its_line_over_processes() -> None:
    cells = [each for each in BOTH.every_cell if each.workload == "echo" or each.workers == 2]
    lines = printed(FakeStudy(cells=cells, blocks=8).results)
    (echo,) = (line for line in lines if line.startswith("echo · asyncio  "))
    (stream,) = (line for line in lines if line.startswith("stream · asyncio  "))
    assert echo.count("(") == 2
    assert stream.split()[3] == "–"
    assert stream.count("(") == 1


def test_where_no_gain_is_hidden_none_is_counted() -> None:
    cells = [
        each
        for each in BOTH.every_cell
        if (each.model == "threads" if each.workload == "echo" else each.workers == 2)
    ]
    text = "\n".join(printed(FakeStudy(cells=cells, blocks=8).results))
    assert "stream · asyncio  " in text
    assert "Over one:" not in text


def first_command(change: Change = lambda run: run) -> list[str]:
    """The answer of a study like `nox -s scale-3.14t`: threads and processes on one build."""

    def as_asked(run: RunLine) -> RunLine:
        return change(without_gain(run) if run.cell.workload == "shared" else run)

    study = FakeStudy(
        name="scale-3.14t",
        variants={
            "compute": [{}],
            "shared": [{"sharing": "attribute-write"}],
            **{name: [{}] for name in ("echo", "stream", "scrape")},
        },
        models=("threads", "processes"),
        loops=("asyncio", "uvloop"),
        workers=(1, 2, 4),
        blocks=7,
        aa_pairs=True,
        ticks=4,
        change=as_asked,
    )

    def is_asked(line: Line) -> bool:
        if not isinstance(line, RunLine):
            return True
        of = line.cell
        if of.workload in ("compute", "shared"):
            return (of.loop, of.model) == ("asyncio", "threads") and of.workers < 4
        return of.workers < 4 or (of.workload, of.loop, of.model) == ("echo", "asyncio", "threads")

    return printed(StudyResults.of(in_memory(filter(is_asked, study.lines))))


def test_the_first_command_answers_threads_or_processes() -> None:
    """A line for each workload and loop: gain, threads over processes, memory of both."""
    lines = first_command()
    assert fits(lines), "\n".join(lines)
    assert "Controls hold." in lines
    for workload, loop in product(("echo", "stream", "scrape"), ("asyncio", "uvloop")):
        whole = rf"{workload} · {loop} +{RATIO} +{RATIO} +[a-z ]+ +1\.\d+ +1\d\.\d"
        assert sum(bool(re.fullmatch(whole, line)) for line in lines) == 1, (workload, loop)
    place = lines.index("N = 4, more workers than CPUs")
    assert lines[place + 1].startswith("echo · asyncio ")
    assert not lines[place + 2].startswith(("echo", "stream", "scrape"))


def test_wide_ratios_leave_room_for_the_memory_of_both() -> None:
    lines = first_command(without_gain)
    assert fits(lines), "\n".join(lines)
    assert any(line.startswith("VOID") for line in lines)
    for workload, loop in product(("echo", "stream", "scrape"), ("asyncio", "uvloop")):
        whole = rf"{workload} (· )?{loop} .*\)  ?[a-z]+ +\d+\.\d +\d+\.\d"
        assert sum(bool(re.fullmatch(whole, line)) for line in lines) == 1, "\n".join(lines)


def test_nothing_is_cut_off_where_much_has_to_be_said() -> None:
    def change(run: RunLine) -> RunLine:
        if run.block != 3:
            return run
        return with_(run, disturbance__throttled_s=0.5, disturbance__steal_fraction=0.5)

    lines = first_command(change)
    assert fits(lines), "\n".join(lines)
    assert not [line for line in lines if line.endswith("…")], "\n".join(lines)


def test_names_that_are_too_long_lose_what_all_have_not_what_tells_them_apart() -> None:
    places = product(("dict", "lru_cache"), ("all", "each"), (5.0, 50.0))
    parameters: list[dict[str, ParameterValue]] = [
        {"cache": cache, "of": of, "miss_us": miss_us} for cache, of, miss_us in places
    ]
    models, arms = ("threads", "processes"), ("3.14", "3.14t")
    study = FakeStudy(
        variants={"cache": parameters}, arms=arms, models=models, workers=(1, 2), blocks=6
    )
    lines = printed(study.results)
    names = [re.split(f"  +{RATIO}", line)[0] for line in lines if re.search(f"  {RATIO}", line)]
    assert "cache · asyncio · cache, miss_us and of:" in lines, "\n".join(lines)
    assert {"dict · 5.0 · all", "lru_cache · 50.0 · each"} <= set(names)
    assert len(set(names)) == len(names)


def test_without_processes_a_line_has_the_verdict_and_the_interval_of_memory() -> None:
    lines = printed(FakeStudy(workers=(1, 2), blocks=8).results)
    assert re.fullmatch(r"N = 2 +over one +MiB \(PSS\) per extra thread", lines[2])
    assert re.fullmatch(rf"echo · asyncio  {RATIO}  faster.* {RATIO}", lines[3])


def test_disturbed_runs_are_counted_and_states_named() -> None:
    def disturbed(run: RunLine) -> RunLine:
        if run.cell.workers != 2 or run.block % 2:
            return run
        return with_(with_speed(run, 1 / 3), disturbance__steal_fraction=0.5)

    study = FakeStudy(workers=(1, 2), blocks=8, change=disturbed)
    text = " ".join(" ".join(printed(study.results)).split())
    assert "inconclusive, two states" in text
    assert "Disturbed by other load, used: 4 of 16 runs." in text


def test_what_has_no_room_ends_with_a_whole_figure() -> None:
    text = "MiB per thread: echo 11.4 (7.84–13.9), scrape 0.854 (0.505–0.991), stream 3."
    assert wrapped(text, 60, 1) == [f"MiB per thread: echo 11.4 (7.84–13.9){MORE}"]
    assert " ".join(wrapped(text, 60, 2)) == text
    assert wrapped("Left out: 3 runs. Disturbed: 5 of 87 runs.", 20, 1) == ["Left out: 3 runs."]
    assert wrapped(text, 10, 1) == ["MiB per"]


def test_it_has_as_many_lines_on_the_narrowest_terminal() -> None:
    variants: Variants = {f"own:{HOSTILE}": [{HOSTILE: HOSTILE}, {HOSTILE: 1}]}
    loops, workers = ("asyncio", "uvloop"), (1, 2, 4, 8, 16)
    study = FakeStudy(name=HOSTILE, variants=variants, loops=loops, workers=workers, ticks=4)
    for width in (20, 40, 79, 200):
        assert fits(printed(study.results, width), width)


@pytest.mark.usefixtures("undrawn")
def test_what_is_written_begins_with_what_the_controls_say(tmp_path: Path) -> None:
    FakeStudy(arms=("3.14", "3.14t"), workers=(1, 2)).write(tmp_path)
    shown = printed_by(lambda console: finish(tmp_path, console))
    assert f"page:   {tmp_path / 'report.html'}" in shown
    assert (tmp_path / "report.html").is_file()
    text = (tmp_path / "tables.md").read_text()
    assert text.startswith("**Controls missing")
    assert text.count("Controls missing") == 1
    assert text.index("What freed the speed") < text.index("| curve | N |")


@pytest.mark.usefixtures("undrawn")
def test_a_study_without_a_valid_run_fails(tmp_path: Path) -> None:
    FakeStudy(workers=(1, 2), blocks=1, change=crashed).write(tmp_path)
    file = io.StringIO()
    with pytest.raises(ScalingError, match="none of the 2 runs is valid"):
        finish(tmp_path, new_console(file=file))
    assert "crashed" in file.getvalue()


def test_what_cannot_be_written_is_named_with_what_writes_it_again(tmp_path: Path) -> None:
    def full() -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(ScalingError) as caught:
        try_writing(tmp_path / "tables.md", full, "scaling compare")
    assert str(caught.value).startswith(f"{tmp_path / 'tables.md'} cannot be written (No space")
    assert "`scaling compare`" in str(caught.value)
    FakeStudy(workers=(1,), blocks=1).write(tmp_path)
    (tmp_path / "summary.csv").mkdir()
    with pytest.raises(ScalingError, match=r"summary\.csv cannot be written .*`scaling report`"):
        write_again(tmp_path, None, new_console(quiet=True))
    (tmp_path / "summary.csv").rmdir()
    (tmp_path / "plots").write_text("in the way")
    with pytest.raises(ScalingError, match=r"plots cannot be written .*`scaling report`"):
        write_again(tmp_path, None, new_console(quiet=True))


def test_progress_in_a_log_is_short_however_many_blocks() -> None:
    file = io.StringIO()
    shown = PlainLines(Console(file=file, width=WIDTH))
    shown.begin(3000, 0)
    for block in range(1000):
        for run in range(3):
            shown.finished(f"echo {run}", "9/s", Left(9))
            shown.invalid("throttled" if run else "gil", again=False)
        shown.block_done(block, f"block {block + 1} of 1000 done")
    shown.end()
    lines = file.getvalue().splitlines()
    assert len(lines) <= 60 - LINES - 5  # what the plan says before
    assert "  2 runs still invalid, excluded: throttled; 1 run with other issues" in lines
    assert lines[-1].startswith("  ") or "[3000/3000]" in lines[-1]
