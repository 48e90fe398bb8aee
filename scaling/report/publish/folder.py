"""`scaling publish`: a study put where it can be committed, with all that can be read there.

The journal is packed and everything else is written anew from it; there are no PNGs, since a
repository keeps every version of them, and the page shows the plots' files instead of having its
own. It is made beside the folder first, so that the folder never holds half of one study and half
of another.
"""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from scaling.analysis.results import StudyResults
from scaling.analysis.table.load import Journal
from scaling.base import formats
from scaling.base.console import say
from scaling.base.errors import ScalingError, UsageError
from scaling.journal.beside import NAMES as BESIDE
from scaling.journal.file import FILE_NAME as JOURNAL_NAME
from scaling.journal.folder import PUBLISHED_NAME
from scaling.journal.protected_write import try_writing
from scaling.report.files import (
    COMPARISON,
    LAWS,
    LOSSES,
    PLOTS,
    SUMMARY,
    TABLES,
    write_derived,
)
from scaling.report.page import again
from scaling.report.publish import environment
from scaling.report.publish.packed import packed, unpacked
from scaling.report.publish.privacy_check import names_in
from scaling.report.reading import read

PAGE = "index.html"  # report.html is a page that stands alone
PUBLISHED = (
    *(PUBLISHED_NAME, environment.FILE_NAME, again.FILE_NAME, PAGE),
    *(TABLES, SUMMARY, COMPARISON, LAWS, LOSSES, PLOTS),
    *BESIDE,
)


def publish(results: Path, folder: Path, console: Console, *, replace: bool = False) -> None:
    """Publish the study in `results` in `folder`, which is its own.

    What has been published there of the same study is written anew; files of other names stay. A
    different study is replaced only with `replace`.

    Raises:
        UsageError: no journal that could be read, or `folder` holds something else.
        ScalingError: the journal names a path or a machine, or something cannot be written.
    """
    journal = read(results, console)
    lines = unpacked(journal.path)
    _refuse_names(journal.path, lines)
    for beside in (journal.path.parent / name for name in BESIDE):
        if beside.is_file():
            _refuse_names(beside, beside.read_bytes())
    _refuse_others(folder, lines, replace=replace)

    def write() -> None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as made:
            write_published(journal, _as_published(folder, lines), Path(made))
            _take_its_place(Path(made), folder)

    try_writing(folder, write, again="scaling publish")
    pictures = len(list((folder / PLOTS).glob("*.svg")))
    say(console, f"published: {folder}, with {formats.plural(pictures, 'plot')}")


def write_published(journal: Journal, gzipped: bytes, folder: Path) -> None:
    """Write all that is published of a journal, itself `gzipped` among it.

    Raises `OSError`; `ScalingError` if the page names a path or a machine.
    """
    from scaling.report.page.picture import Pictures
    from scaling.report.page.write import write_page

    (folder / PUBLISHED_NAME).write_bytes(gzipped)
    for name in BESIDE:
        if (journal.path.parent / name).is_file():
            shutil.copyfile(journal.path.parent / name, folder / name)
    write_descriptions(journal, folder)
    results = StudyResults.of(journal)
    write_derived(results, folder, formats=["svg"])
    write_page(results, folder / PAGE, pictures=Pictures(folder / PLOTS, beside=True))
    _refuse_names(folder / PAGE, (folder / PAGE).read_bytes())


def write_descriptions(journal: Journal, folder: Path) -> None:
    """Write what the study was measured on, and the file that asks for it again, if that is known.

    Raises `OSError`.
    """
    described = environment.environment_text(journal)
    (folder / environment.FILE_NAME).write_text(described, encoding="utf-8")
    if document := again.study_file(journal.study):
        (folder / again.FILE_NAME).write_text(document, encoding="utf-8")


def _refuse_names(path: Path, lines: bytes) -> None:
    found = next(names_in(lines.decode(errors="replace")), None)
    if found is not None:
        raise ScalingError(
            f"{path}: line {found.line} names {found.text!r}, which may reveal who or where "
            "you are; nothing is published. Take it out of a copy of the study, and publish that"
        )


def _refuse_others(folder: Path, lines: bytes, *, replace: bool) -> None:
    """Refuse a folder in which something would be lost or mixed up."""
    published = folder / PUBLISHED_NAME
    if (folder / JOURNAL_NAME).exists():
        raise UsageError(f"{folder} is where a study was measured: publish it in another folder")
    if published.is_file():
        if not replace and not lines.startswith(unpacked(published)):
            raise UsageError(f"{folder} holds another study: name another folder, or use --replace")
    elif folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file: name a folder")
    elif folder.is_dir() and any(folder.iterdir()):
        raise UsageError(f"{folder} holds other things: give each study a folder of its own")


def _as_published(folder: Path, lines: bytes) -> bytes:
    """The lines gzipped; as they are in the folder, if they are there (zlibs pack differently)."""
    there = folder / PUBLISHED_NAME
    if there.is_file() and unpacked(there) == lines:
        return there.read_bytes()
    return packed(lines)


def _take_its_place(made: Path, folder: Path) -> None:
    """Put what was made into the folder, and take out what would no longer be made."""
    folder.mkdir(exist_ok=True)
    for name in PUBLISHED:
        new, old = made / name, folder / name
        if old.is_dir():
            shutil.rmtree(old)
        if new.exists():
            new.replace(old)
        else:
            old.unlink(missing_ok=True)
