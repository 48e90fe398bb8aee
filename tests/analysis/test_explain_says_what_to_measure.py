"""`scaling explain` says what is lost, draws the largest loss, or says what to measure."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import pytest
from rich.console import Group

from scaling.analysis.results import StudyResults
from scaling.base.console import new_console
from scaling.base.errors import UsageError
from scaling.report.explain import MOST_ROWS, explain, waterfall, waterfalls
from scaling.report.files import LOSSES, TABLES, write_tables
from scaling.report.page.render import page
from scaling.report.plots.draw import subjects
from scaling.report.plots.style import RC
from scaling.report.plots.waterfall import PLOT
from tests.support.printing import printed, printed_by
from tests.support.studies import FakeStudy
from tests.support.terms import IDEAL, Terms, plus


def growing(arm: str, model: str, n: int) -> Terms:
    """Processes lose to the machine, threads to each other, too."""
    if model == "processes":
        return plus(user=300.0 * (n - 1))
    each_ns = {"user": 2_500.0, "blocked": 900.0, "rest": 400.0}
    return plus(idle=-500.0, **{name: ns * (n - 1) for name, ns in each_ns.items()})


SMALL = FakeStudy(workers=(1, 2), blocks=6, ticks=2, terms=growing)
LARGE = replace(SMALL, models=("threads", "processes"), workers=(1, 2, 64), cores=64, logical=64)


@contextmanager
def read_as(study: FakeStudy) -> Iterator[None]:
    """Readings are made up and in no file, so that the study is not read from one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scaling.report.explain.read", lambda *_: study.journal)
        yield


def explained(study: FakeStudy, *, details: bool = False) -> str:
    with read_as(study):
        return printed_by(lambda console: explain(Path("x"), console, details=details))


@pytest.mark.parametrize("width", [80, 120])
def test_a_waterfall_ends_where_the_time_ends(width: int) -> None:
    attributions = LARGE.results.attributions
    text = printed(Group(*waterfalls(attributions, width)), width=width)
    missing = [each for each in attributions if each.misses]
    assert text.count("ideal, as N = 1") == len(missing) > 0
    for each in missing:
        *steps, last = map(str, waterfall(each, width))
        before = next(line for line in reversed(steps) if "█" in line)
        assert last.lstrip().startswith(f"N = {each.workers} ")
        assert len(before.rstrip()) == pytest.approx(len(last.rstrip()), abs=1)


def test_all_sentences_come_before_the_first_waterfall() -> None:
    lines = explained(LARGE).splitlines()
    assert lines[0] == "controls missing"
    assert lines[1] in [each.name for each in LARGE.results.attributions]
    last = max(place for place, line in enumerate(lines) if "the work of one" in line)
    assert last < min(place for place, line in enumerate(lines) if "ideal, as N = 1" in line)


def test_more_workers_than_cpus_are_explained_when_asked() -> None:
    study = replace(SMALL, workers=(1, 2, 8))
    within, every = explained(study), explained(study, details=True)
    assert "N = 2" in within
    assert "N = 8" not in within
    assert "1 cell left out: scaling explain" in within
    assert "N = 8" in every
    assert "left out" not in every


def test_threads_without_the_gil_are_explained_and_others_have_a_row() -> None:
    study = replace(
        SMALL,
        variants={"echo": [{"payload_bytes": size} for size in (64, 256, 1024, 4096, 16384)]},
        arms=("3.14", "3.14t"),
        models=("threads", "processes"),
    )
    lines = explained(study).splitlines()
    assert len(lines) < 90
    told = [line for line in lines if "the work of one" in line]
    assert told
    assert all(line.startswith("2 threads on 3.14t") for line in told)
    assert sum("ideal, as N = 1" in line for line in lines) == 1
    others = lines[next(at for at, line in enumerate(lines) if "Other cells" in line) :]
    rows = [line for line in others if not line.startswith("Functions")]
    assert sum("2 threads" in line for line in rows) == MOST_ROWS


def test_below_six_blocks_it_says_so_and_gives_no_interval() -> None:
    text = " ".join(explained(replace(SMALL, blocks=2), details=True).split())
    assert "an interval needs 6 blocks, it has 2." in text
    assert "95 % interval" not in text
    assert "range of 2 runs" in text


def results_at(study: FakeStudy, folder: Path) -> StudyResults:
    """The results of a study that has a folder."""
    return StudyResults.of(replace(study.journal, path=study.write(folder)))


@pytest.mark.usefixtures("unrendered")
def test_every_output_has_the_losses(tmp_path: Path) -> None:
    results = results_at(LARGE, tmp_path)
    assert tmp_path / LOSSES in write_tables(results, tmp_path)
    assert "What is lost: echo · weak sizing · asyncio" in (tmp_path / TABLES).read_text()
    html = page(results)
    assert 'id="losses"' in html
    assert "Largest loss: user CPU" in html


@pytest.mark.usefixtures("unrendered")
def test_without_readings_nothing_is_shown(tmp_path: Path) -> None:
    results = results_at(FakeStudy(workers=(1, 2)), tmp_path)
    assert results.attributions == []
    assert tmp_path / LOSSES not in write_tables(results, tmp_path)
    assert 'id="losses"' not in page(results)


def test_the_plot_has_a_panel_for_a_few_ns() -> None:
    (about,) = subjects(LARGE.results).values()
    with mpl.rc_context(RC):
        sheet = PLOT.draw(about)
    titles = [axes.get_title(loc="left") for axes in sheet.all_panels]
    assert titles == [f"asyncio · 3.14t · threads, N = {n}" for n in (2, 64)]
    for axes in sheet.all_panels:
        assert any(line.get_gid() == "processes" for line in axes.get_lines())


@pytest.mark.parametrize(
    ("study", "says"),
    [
        (replace(SMALL, workers=(1,)), "every run of this study is at N = 1"),
        (replace(SMALL, workers=(2, 4), terms=lambda *_: IDEAL), "--workers 1,2,4"),
        (replace(SMALL, terms=None), "no readings of where the time goes"),
    ],
    ids=["one N", "not N = 1", "no readings"],
)
def test_what_cannot_be_explained_says_what_to_measure(study: FakeStudy, says: str) -> None:
    with read_as(study), pytest.raises(UsageError, match=re.escape(says)):
        explain(Path("x"), new_console(quiet=True))
