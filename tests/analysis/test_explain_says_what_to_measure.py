"""`scaling explain` says what is lost, draws the largest loss, or says what to measure."""

import io
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import pytest
from rich.console import Console

from scaling.analysis.results import StudyResults
from scaling.base.console import new_console
from scaling.base.errors import UsageError
from scaling.report.explain import explain
from scaling.report.files import LOSSES, TABLES, write_tables
from scaling.report.page.render import page
from scaling.report.plots.draw import subjects
from scaling.report.plots.style import RC
from scaling.report.plots.waterfall import PLOT
from scaling.report.terminal.pictures import MOST_ROWS, Waterfalls, waterfall
from tests.support.fabricate import Made, studied
from tests.support.time_terms import IDEAL, Terms, explained, plus, with_terms


def growing(arm: str, model: str, n: int) -> Terms:
    """Processes lose to the machine, threads to each other, too."""
    if model == "processes":
        return plus(user=300.0 * (n - 1))
    each_ns = {"user": 2_500.0, "blocked": 900.0, "rest": 400.0}
    return plus(idle=-500.0, **{name: ns * (n - 1) for name, ns in each_ns.items()})


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    """A study of up to 64 workers on as many cores."""
    made = Made(
        models=("threads", "processes"),
        workers=(1, 2, 8, 64),
        cores=64,
        logical=64,
        blocks=6,
        ticks=2,
    )
    return explained(tmp_path_factory.mktemp("large"), made, growing)


def printed(what: object, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(what)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 120])
def test_a_waterfall_ends_where_the_time_ends(large: StudyResults, width: int) -> None:
    text = printed(Waterfalls(large.attributions), width)
    assert max(map(len, text)) <= width
    missing = [each for each in large.attributions if each.misses]
    assert sum("ideal, as N = 1" in line for line in text) == len(missing)
    for each in missing:
        *steps, last = map(str, waterfall(each, width))
        before = next(line for line in reversed(steps) if "█" in line)
        assert last.lstrip().startswith(f"N = {each.workers} ")
        assert len(before.rstrip()) == pytest.approx(len(last.rstrip()), abs=1)


def explained_text(results: StudyResults, *, details: bool = False) -> str:
    assert results.path
    out = io.StringIO()
    explain(results.path.parent, Console(file=out, width=80, highlight=False), details=details)
    return out.getvalue()


@pytest.fixture
def read_again(monkeypatch: pytest.MonkeyPatch) -> Callable[[StudyResults], None]:
    """Readings are made up after the journal is written, so that it is not read again."""

    def read(results: StudyResults) -> None:
        monkeypatch.setattr("scaling.report.explain.read", lambda *_: results)

    return read


def test_all_sentences_come_before_the_first_waterfall(
    large: StudyResults, read_again: Callable[[StudyResults], None]
) -> None:
    read_again(large)
    lines = explained_text(large).splitlines()
    assert lines[0] == "controls missing"
    assert lines[1] in [each.name for each in large.attributions]
    assert max(map(len, lines[:-1])) <= 80  # a command to copy is never broken
    last = max(place for place, line in enumerate(lines) if "the work of one" in line)
    assert last < min(place for place, line in enumerate(lines) if "ideal, as N = 1" in line)


def test_more_workers_than_cpus_are_explained_when_asked(
    tmp_path: Path, read_again: Callable[[StudyResults], None]
) -> None:
    made = Made(workers=(1, 2, 8), cores=2, logical=2, blocks=6, ticks=2)
    results = explained(tmp_path, made, growing)
    read_again(results)
    within, every = explained_text(results), explained_text(results, details=True)
    assert "N = 2" in within
    assert "N = 8" not in within
    assert "1 cell left out: scaling explain" in within
    assert "N = 8" in every
    assert "left out" not in every


def test_threads_without_the_gil_are_explained_and_others_have_a_row(
    tmp_path: Path, read_again: Callable[[StudyResults], None]
) -> None:
    made = Made(
        variants={"echo": [{"payload_bytes": size} for size in (64, 256, 1024, 4096, 16384)]},
        arms=("3.14", "3.14t"),
        models=("threads", "processes"),
        workers=(1, 2),
        blocks=6,
        ticks=2,
    )
    results = explained(tmp_path, made, growing)
    read_again(results)
    lines = explained_text(results).splitlines()
    assert len(lines) < 90
    told = [line for line in lines if "the work of one" in line]
    assert told
    assert all(line.startswith("2 threads on 3.14t") for line in told)
    assert sum("ideal, as N = 1" in line for line in lines) == 1
    others = lines[next(at for at, line in enumerate(lines) if "Other cells" in line) :]
    assert sum("2 threads" in line for line in others) == MOST_ROWS


def test_below_six_blocks_it_says_so_and_gives_no_interval(
    tmp_path: Path, read_again: Callable[[StudyResults], None]
) -> None:
    results = explained(tmp_path, Made(workers=(1, 2), blocks=2, ticks=2, cores=2), growing)
    read_again(results)
    text = " ".join(explained_text(results, details=True).split())
    assert "an interval needs 6 blocks, it has 2." in text
    assert "95 % interval" not in text
    assert "range of 2 runs" in text


@pytest.mark.slow
def test_every_output_has_the_losses(large: StudyResults, tmp_path: Path) -> None:
    files = write_tables(large, tmp_path)
    assert tmp_path / LOSSES in files
    text = (tmp_path / TABLES).read_text()
    assert "What is lost: echo · weak sizing · asyncio" in text
    html = page(large)
    assert 'id="losses"' in html
    assert "Largest loss: user CPU" in html


def test_the_plot_has_a_panel_for_a_few_ns(large: StudyResults) -> None:
    (about,) = subjects(large).values()
    with mpl.rc_context(RC):
        sheet = PLOT.draw(about)
    titles = [axes.get_title(loc="left") for axes in sheet.all_panels]
    assert titles == [f"asyncio · 3.14t · threads, N = {n}" for n in (2, 64)]
    for axes in sheet.all_panels:
        assert any(line.get_gid() == "processes" for line in axes.get_lines())


def test_without_readings_nothing_is_shown(tmp_path: Path) -> None:
    results = StudyResults.of(studied(tmp_path, Made(workers=(1, 2))))
    assert results.attributions == []
    assert tmp_path / LOSSES not in write_tables(results, tmp_path)
    assert 'id="losses"' not in page(results)


@pytest.mark.parametrize(
    ("workers", "has_readings", "says"),
    [
        ((1,), True, "every run of this study is at N = 1"),
        ((2, 4), True, "--workers 1,2,4"),
        ((1, 2), False, "no readings of where the time goes"),
    ],
)
def test_what_cannot_be_explained_says_what_to_measure(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    workers: tuple[int, ...],
    has_readings: bool,
    says: str,
) -> None:
    made = Made(workers=workers, ticks=2)
    journal = studied(tmp_path, made)
    if has_readings:
        journal = with_terms(journal, lambda arm, model, n: IDEAL)
    monkeypatch.setattr("scaling.report.explain.read", lambda *_: journal)
    with pytest.raises(UsageError, match=says):
        explain(tmp_path, new_console(quiet=True))
