"""The end of `scaling run`: at most 24 lines of 80 columns, whatever was measured."""

import io
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import read_journal
from scaling.journal.record import Line, RunLine
from scaling.report.output import finish
from scaling.report.terminal.answer import LINES, MORE, WIDTH, print_answer, wrapped
from scaling.run.progress import PlainLines
from scaling.run.time_left import Left
from tests.support.children import ROOT
from tests.support.fabricate import Made, journal, with_, write
from tests.support.published import FOLDERS, name_of, results_of

BUILT_IN = sorted((ROOT / "scaling" / "study" / "builtin").glob("*.toml"))
ALL = ("3.14", "3.14+mimalloc", "3.14t+gil", "3.14t")
HOSTILE = "[red]:boom:|`\u202e日本語" * 6


def printed(
    results: StudyResults,
    width: int = WIDTH,
    encoding: str = "utf-8",
    folder: Path = Path("results/x"),
) -> list[str]:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, errors="replace")
    console = Console(file=file, width=width, emoji=False, markup=False, highlight=False)
    print_answer(results, folder, folder / "report.html", console)
    file.flush()
    return raw.getvalue().decode(encoding).splitlines()


def fits(lines: list[str], width: int = WIDTH) -> bool:
    """Paths and commands, in the last three lines, are never cut."""
    return len(lines) <= LINES and all(cell_len(line) <= width for line in lines[:-3])


def studied(folder: Path, made: Made) -> StudyResults:
    return StudyResults.of(read_journal(write(journal(made), folder / "journal.jsonl")))


def variants_of(document: dict[str, object]) -> Iterator[tuple[str, list[dict[str, object]]]]:
    """The workloads of a study file, each with all combinations of its parameters."""
    entries = document["workloads"]
    assert isinstance(entries, list)
    for entry in entries:
        swept = {
            name: values if isinstance(values, list) else [values]
            for name, values in entry.get("parameters", {}).items()
        }
        rows = [dict(zip(swept, row, strict=True)) for row in product(*swept.values())]
        yield entry["name"], rows[:8]


def made_like(file: Path, blocks: int) -> Made:
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    return Made(
        name=file.stem,
        variants=dict(variants_of(document)),  # type: ignore[arg-type]
        arms=ALL,
        loops=document.get("loops", ["asyncio", "uvloop"]),
        models=document.get("models", ["threads", "processes"]),
        workers=(1, 2, 4),
        blocks=blocks,
        aa_pairs=True,
    )


@pytest.mark.parametrize("file", BUILT_IN, ids=lambda file: file.stem)
def test_every_built_in_study_has_a_first_screen(file: Path, tmp_path: Path) -> None:
    lines = printed(studied(tmp_path, made_like(file, blocks=2)))
    assert fits(lines), "\n".join(lines)
    assert any("inconclusive" in line for line in lines)
    assert lines[-1].startswith(("next:   the same with --preset", "next:   scaling doctor"))


def test_its_commands_can_be_pasted_whatever_the_folder(tmp_path: Path) -> None:
    results, folder = studied(tmp_path, Made(arms=ALL, blocks=6)), "my results/it's & $x"
    commands = [
        line.partition(":")[2].partition(" (")[0]
        for line in printed(results, folder=Path(folder))
        if line.startswith(("tables:", "next:"))
    ]
    assert ["scaling", "show", folder, "--details"] in map(shlex.split, commands)
    assert ["scaling", "claims", folder] in map(shlex.split, commands)


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_every_published_study_has_a_first_screen(folder: Path) -> None:
    lines = printed(results_of(folder))
    assert fits(lines), "\n".join(lines)
    assert lines[-3] == "page:   results/x/report.html"
    assert any(line.startswith("Noise") for line in lines)


def test_it_has_ratios_memory_controls_noise_and_a_curve(tmp_path: Path) -> None:
    made = Made(
        arms=("3.14", "3.14t"),
        models=("threads", "processes"),
        workers=(1, 2),
        blocks=8,
        aa_pairs=True,
    )
    text = "\n".join(printed(studied(tmp_path, made)))
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


def without_gain(run: RunLine) -> RunLine:
    """N workers do the work of one."""
    assert run.record is not None
    workers = [
        with_(each, ticks__operations=[n // run.cell.workers for n in each.ticks.operations])
        for each in run.record.workers
    ]
    return with_(run, record__workers=workers)


def first_command(
    folder: Path, change: Callable[[RunLine], RunLine] = lambda run: run
) -> list[str]:
    """The answer of a study like `nox -s scale-3.14t`: threads and processes on one build."""
    made = Made(
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
    )

    def as_asked(run: RunLine) -> RunLine:
        return change(without_gain(run) if run.cell.workload == "shared" else run)

    def is_asked(line: Line) -> bool:
        if not isinstance(line, RunLine):
            return True
        of = line.cell
        if of.workload in ("compute", "shared"):
            return (of.loop, of.model) == ("asyncio", "threads") and of.workers < 4
        return of.workers < 4 or (of.workload, of.loop, of.model) == ("echo", "asyncio", "threads")

    lines = [line for line in journal(made, as_asked) if is_asked(line)]
    return printed(StudyResults.of(read_journal(write(lines, folder / "journal.jsonl"))))


def test_the_first_command_answers_threads_or_processes(tmp_path: Path) -> None:
    """A line for each workload and loop: gain, threads over processes, memory of both."""
    lines = first_command(tmp_path)
    assert fits(lines), "\n".join(lines)
    ratio = r"\d\.\d+ \(\d\.\d+–\d\.\d+\)"
    for workload, loop in product(("echo", "stream", "scrape"), ("asyncio", "uvloop")):
        whole = rf"{workload} · {loop} +{ratio} +{ratio} +[a-z ]+ +1\.\d+ +1\d\.\d"
        assert sum(bool(re.fullmatch(whole, line)) for line in lines) == 1, (workload, loop)
    place = lines.index("N = 4, more workers than CPUs")
    assert lines[place + 1].startswith("echo · asyncio ")
    assert not lines[place + 2].startswith(("echo", "stream", "scrape"))


def test_wide_ratios_leave_room_for_the_memory_of_both(tmp_path: Path) -> None:
    lines = first_command(tmp_path, without_gain)
    assert fits(lines), "\n".join(lines)
    for workload, loop in product(("echo", "stream", "scrape"), ("asyncio", "uvloop")):
        whole = rf"{workload} (· )?{loop} .*\)  ?[a-z]+ +\d+\.\d +\d+\.\d"
        assert sum(bool(re.fullmatch(whole, line)) for line in lines) == 1, "\n".join(lines)


@pytest.mark.parametrize("trouble", ["none", "void", "disturbed", "invalid"])
def test_nothing_that_the_first_command_says_is_cut_off(trouble: str, tmp_path: Path) -> None:
    def change(run: RunLine) -> RunLine:
        if trouble == "void" and run.cell.workload == "compute":
            return without_gain(run)
        if trouble == "disturbed" and run.block == 3:
            return with_(run, disturbance__steal_fraction=0.5)
        if trouble == "invalid" and run.block == 3:
            return with_(run, disturbance__throttled_s=0.5, disturbance__steal_fraction=0.5)
        return run

    lines = first_command(tmp_path, change)
    assert fits(lines), "\n".join(lines)
    assert ("Controls hold." in lines) == (trouble != "void")
    assert any(line.startswith("VOID") for line in lines) == (trouble == "void")
    assert not [line for line in lines if line.endswith("…")], "\n".join(lines)


def test_without_processes_a_line_has_the_verdict_and_the_interval_of_memory(
    tmp_path: Path,
) -> None:
    lines = printed(studied(tmp_path, Made(workers=(1, 2), blocks=8)))
    assert re.fullmatch(r"N = 2 +over one +MiB \(PSS\) per extra thread", lines[2])
    ratio = r"\d\.\d+ \(\d\.\d+–\d\.\d+\)"
    assert re.fullmatch(rf"echo · asyncio  {ratio}  faster.* {ratio}", lines[3])


def test_disturbed_runs_are_counted_and_states_named(tmp_path: Path) -> None:
    def disturbed(run: RunLine) -> RunLine:
        if run.cell.workers != 2 or run.block % 2 or run.record is None:
            return run
        workers = [
            with_(each, ticks__operations=[count // 3 for count in each.ticks.operations])
            for each in run.record.workers
        ]
        return with_(run, record__workers=workers, disturbance__steal_fraction=0.5)

    lines = journal(Made(workers=(1, 2), blocks=8))
    made = [disturbed(line) if isinstance(line, RunLine) else line for line in lines]
    results = StudyResults.of(read_journal(write(made, tmp_path / "journal.jsonl")))
    text = " ".join(" ".join(printed(results)).split())
    assert "inconclusive, two states" in text
    assert "Disturbed by other load, used: 4 of 16 runs." in text


def test_what_has_no_room_ends_with_a_whole_figure() -> None:
    text = "MiB per thread: echo 11.4 (7.84–13.9), scrape 0.854 (0.505–0.991), stream 3."
    assert wrapped(text, 60, 1) == [f"MiB per thread: echo 11.4 (7.84–13.9){MORE}"]
    assert " ".join(wrapped(text, 60, 2)) == text
    assert wrapped("Left out: 3 runs. Disturbed: 5 of 87 runs.", 20, 1) == ["Left out: 3 runs."]
    assert wrapped(text, 10, 1) == ["MiB per"]


@pytest.mark.parametrize("width", [20, 40, 79, 80, 200])
def test_it_fits_every_terminal(width: int, tmp_path: Path) -> None:
    made = Made(
        name=HOSTILE,
        variants={f"own:{HOSTILE}": [{HOSTILE: HOSTILE}, {HOSTILE: 1}]},
        loops=("asyncio", "uvloop"),
        workers=(1, 2, 4, 8, 16),
    )
    lines = printed(studied(tmp_path, made), width)
    assert fits(lines, width), "\n".join(lines)
    assert "[red]" in "".join(lines)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_it_is_readable_in_other_encodings(encoding: str, tmp_path: Path) -> None:
    lines = printed(studied(tmp_path, Made(workers=(1, 2))), encoding=encoding)
    assert fits(lines)
    assert any("inconclusive, too few blocks" in line for line in lines)


def test_no_color_and_a_pipe_have_no_escape_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = studied(tmp_path, Made(workers=(1, 2)))
    assert "\x1b" not in "".join(printed(results))
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in "".join(printed(results))


@pytest.mark.usefixtures("unrendered")
def test_a_run_writes_its_page(tmp_path: Path) -> None:
    studied(tmp_path, Made(workers=(1, 2), blocks=2))
    file = io.StringIO()
    finish(tmp_path, Console(file=file, width=WIDTH))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.lstrip().startswith("<!doctype html>")
    assert f"page:   {tmp_path / 'report.html'}" in file.getvalue()


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
