"""What `scaling reference --submit` proposes: published studies, each checked, and put in words.

A study is whole if every run of its plan is there and every line of its journal can be read; sound
if each control that was run holds and its environment.json is that of the journal; and names nobody
if no file of it has a path or the name of this machine, as `scaling publish` looks for them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from scaling.analysis.results import Extent, StudyResults, extent, incomplete
from scaling.analysis.table.load import Journal, read_journal
from scaling.base.errors import UsageError
from scaling.base.formats import BLANK, duration, listed, number
from scaling.base.version import __version__
from scaling.journal.beside import NAMES as BESIDE
from scaling.journal.identity import Facts, facts_of
from scaling.journal.reading import PUBLISHED_NAME
from scaling.journal.record import StudyLine
from scaling.report.files import COMPARISON, LOSSES, PLOTS
from scaling.report.page.facts import FILE_NAME as STUDY_FILE
from scaling.report.publish import FILE_NAME as ENVIRONMENT
from scaling.report.publish import PUBLISHED, environment_text, names_in, unpacked
from scaling.report.tables.grid import Cell, Chapter, Grid, chapters_markdown
from scaling.report.tables.notes import build_text, machine_text
from scaling.study.settle import scaled_to

MIB = 2.0**20
# What `scaling publish` writes only where a study has it; its page, tables and plots always.
AT_TIMES = (COMPARISON, LOSSES, STUDY_FILE, *BESIDE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A published study; `problems` say why it cannot be proposed. Without a journal that can be
    read it has neither `study` nor `extent`.
    """

    folder: Path
    problems: tuple[str, ...]
    study: StudyLine | None = None
    extent: Extent | None = None
    controls: str = ""

    @property
    def name(self) -> str:
        """That of its folder."""
        return self.folder.name

    @property
    def machine(self) -> Facts | None:
        """What must be the same of all studies of one machine."""
        return facts_of(self.study.machine) if self.study else None


def files_of(folder: Path) -> list[Path]:
    """What `scaling publish` wrote into a folder; files of other names are not proposed."""
    there = (folder / name for name in PUBLISHED)
    return [
        file
        for each in there
        for file in (sorted(each.iterdir()) if each.is_dir() else [each])
        if file.is_file()
    ]


def check_study(folder: Path) -> Checked:
    """Read a study and look for all that is wrong with it."""
    if not (folder / PUBLISHED_NAME).is_file():
        return Checked(folder=folder, problems=(f"it is not published: scaling publish {folder}",))
    try:
        journal = read_journal(folder)
    except UsageError as error:
        return Checked(folder=folder, problems=(str(error),))
    results = StudyResults.of(journal)
    problems = (*_lacks(journal, folder), *_unsound(results, journal, folder), *_names(folder))
    return Checked(
        folder=folder,
        problems=problems,
        study=journal.study,
        extent=extent(journal),
        controls=results.soundness.status,
    )


def _lacks(journal: Journal, folder: Path) -> Iterator[str]:
    if text := incomplete(journal.frame, journal.study, journal.notes):
        yield text
    absent = [name for name in PUBLISHED if name not in AT_TIMES and not (folder / name).exists()]
    if absent:
        yield f"{listed(absent)} not there: scaling publish writes all of it"
    elif not any((folder / PLOTS).iterdir()):
        yield "no plot is there: scaling publish draws them"


def _unsound(results: StudyResults, journal: Journal, folder: Path) -> Iterator[str]:
    study = journal.study
    if study.simulated:
        yield "it is simulated"
    if scaled := scaled_to(study.study):
        yield f"its amounts are {scaled}"
    if not journal.frame["valid"].any():
        yield "no run is valid"
    yield from (f"control {each.text}" for each in results.outcomes if not each.holds)
    file = folder / ENVIRONMENT
    if file.is_file() and not _same_document(file, environment_text(journal)):
        yield f"{ENVIRONMENT} is not what its journal says: scaling publish writes it again"


def _same_document(file: Path, text: str) -> bool:
    try:
        return bool(msgspec.json.decode(file.read_bytes()) == msgspec.json.decode(text))
    except (OSError, msgspec.DecodeError):
        return False


def _names(folder: Path) -> Iterator[str]:
    """Of each file that names somebody, the first place."""
    for file in files_of(folder):
        found = next(names_in(unpacked(file).decode(errors="replace")), None)
        if found:
            line, name = found
            yield f"{file.relative_to(folder)}, line {line}, names {name!r}"


# --------------------------------------------------------------------------------------------- text


def title_of(machines: Mapping[str, Sequence[Checked]]) -> str:
    """`Results of epyc-64-cores: 12 studies`."""
    count = sum(map(len, machines.values()))
    studies = "1 study" if count == 1 else f"{count} studies"
    return f"Results of {listed(machines)}: {studies}"


def pull_request(
    machines: Mapping[str, Sequence[Checked]], left_out: Sequence[Checked], known: Sequence[str]
) -> str:
    """The text of the pull request, in Markdown: what was measured on each machine, what was
    checked, and what is left to do. `known` are the names of all reference studies.
    """
    chapters = [_machine_chapter(name, studies, known) for name, studies in machines.items()]
    if left_out:
        words = [f"`{each.name}`: {problem}" for each in left_out for problem in each.problems]
        chapters.append(Chapter("Left out", words))
    checked = [
        f"By `scaling reference --submit` of scaling {__version__}.",
        "Every run of every study is there, and every line of its journal was read.",
        "Each control that was run holds; environment.json is that of the journal.",
        "No file has a path, or the name of the machine that checked them.",
        "Not checked: tables, plots and pages against the journals. The tests do that.",
    ]
    to_do = [
        "`nox -s quotes`: figures that count all published studies may have changed.",
        "`results/machines.md`: a section for each new machine, and its folder in the list.",
    ]
    chapters += [Chapter("Checked", checked), Chapter("Before it is merged", to_do)]
    return chapters_markdown(chapters) + "\n"


def _machine_chapter(name: str, studies: Sequence[Checked], known: Sequence[str]) -> Chapter:
    first = next(each.study for each in studies if each.study)
    there = {each.name for each in studies}
    absent = [study for study in known if study not in there]
    words = [
        f"{machine_text(first.machine)}.",
        f"Builds: {listed(_builds(studies))}.",
        f"{number(_bytes(studies) / MIB)} MiB.",
        f"Reference studies that are not here: {listed(absent)}." if absent else "",
    ]
    headings = ["study", "controls", "begun", "blocks", "runs", "of them invalid", "measured for"]
    grid = Grid("", headings, [_row(each) for each in studies], words=3)
    return Chapter(name, words, [grid])


def _row(each: Checked) -> list[Cell]:
    found = each.extent
    if found is None:
        return [each.name, *[BLANK] * 6]
    counts = (f"{count:,}" for count in (found.blocks, found.runs, found.invalid))
    return [each.name, each.controls, found.date or BLANK, *counts, duration(60 * found.minutes)]


def _builds(studies: Sequence[Checked]) -> list[str]:
    """Each build once: `3.14.7t with PGO (GCC 12.2.0)`."""
    arms = (arm for each in studies if each.study for arm in each.study.arms.values())
    found = {
        f"{build_text(python)} ({python.compiler or 'compiler unknown'})"
        for python in (arm.description.python for arm in arms if arm.description)
    }
    return sorted(found) or ["none of Python"]


def _bytes(studies: Sequence[Checked]) -> int:
    return sum(file.stat().st_size for each in studies for file in files_of(each.folder))
