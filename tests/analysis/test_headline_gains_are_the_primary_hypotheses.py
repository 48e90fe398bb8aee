"""What a report names first, --precision narrows and Holm corrects are the same gains."""

from pathlib import Path

from scaling.analysis.precision import headline_precision
from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import read_journal
from scaling.journal.record import Line, RunLine
from scaling.report.tables.headline import headlines
from tests.support.fabricate import Made, journal, write

type Whose = tuple[str, int]  # model and N


def checked(folder: Path, lines: list[Line]) -> set[Whose]:
    """The model and N of every headline gain, after a look at all who use them."""
    found = read_journal(write(lines, folder / "journal.jsonl"))
    results = StudyResults.of(found)
    gains = results.ratios.where("gain", keep=lambda each: each.verdict.family == "primary")
    first = {(gain.of.model, gain.of.workers) for each in headlines(results) for gain in each.gains}
    assert first == {(gain.of.model, gain.of.workers) for gain in gains}
    names = headline_precision(found.frame, found.study)
    for model, n in first:
        assert any(name.endswith(f" {model}, N = {n} over 1") for name in names)
    return first


def test_it_is_at_the_largest_n_with_a_core_for_each_worker(tmp_path: Path) -> None:
    made = Made(workers=(1, 2, 4, 8), cores=4, blocks=6)
    assert checked(tmp_path, journal(made)) == {("threads", 4)}


def test_on_one_core_it_is_at_the_largest_n(tmp_path: Path) -> None:
    made = Made(workers=(1, 2, 4), cores=1, logical=1, blocks=6)
    assert checked(tmp_path, journal(made)) == {("threads", 4)}


def test_each_curve_has_its_own_where_their_ns_differ(tmp_path: Path) -> None:
    made = Made(arms=("3.14",), models=("threads", "processes"), cores=4, blocks=6)
    lines = [
        line
        for line in journal(made)
        if not isinstance(line, RunLine) or (line.cell.model, line.cell.workers) != ("threads", 4)
    ]
    assert checked(tmp_path, lines) == {("threads", 2), ("processes", 4)}
