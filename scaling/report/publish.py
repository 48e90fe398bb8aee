"""`scaling publish`: a study in a folder that can be committed.

The journal is packed, and all other files are made from it anew. No PNGs are made, since a
repository keeps every version of them; the page refers to the SVG files of the plots. All files are
made beside the folder first, so that the folder never holds half of one study and half of another.
"""

import contextlib
import gzip
import platform
import re
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from scaling.base.console import say
from scaling.base.errors import ScalingError, UsageError
from scaling.base.formats import plural
from scaling.journal.check_file import CHECK_FILE
from scaling.journal.protected_write import try_writing
from scaling.journal.reading import PUBLISHED_NAME
from scaling.report.descriptions import ENVIRONMENT, STUDY_FILE, write_descriptions
from scaling.report.files import COMPARISON, LOSSES, PLOTS, SUMMARY, TABLES, read, write_all

PAGE = "index.html"  # report.html is a page that stands alone
PUBLISHED = (
    *(PUBLISHED_NAME, ENVIRONMENT, STUDY_FILE, PAGE),
    *(TABLES, SUMMARY, COMPARISON, LOSSES, PLOTS),
    CHECK_FILE,
)


def publish(results: Path, folder: Path, console: Console, *, replace: bool = False) -> None:
    """Publish the study in `results` in `folder`, which is its own.

    Published files of the same study are written again; files of other names stay. Another study is
    replaced only with `replace`.

    Raises:
        UsageError: no journal that could be read, or `folder` has other content.
        ScalingError: a file names a path or a machine, or cannot be written.
    """
    study = read(results, console)
    journal = study.path
    assert journal is not None
    packed = _packed(journal, folder, replace=replace)

    def write() -> None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as made:
            Path(made, PUBLISHED_NAME).write_bytes(packed)
            if (journal.parent / CHECK_FILE).is_file():
                shutil.copyfile(journal.parent / CHECK_FILE, Path(made, CHECK_FILE))
            _refuse_names(Path(made))
            write_descriptions(study, Path(made))
            write_all(study, Path(made), PAGE, ["svg"], PLOTS)
            _refuse_names(Path(made))
            _take_its_place(Path(made), folder)

    try_writing(folder, write, again="scaling publish")
    pictures = len(list((folder / PLOTS).glob("*.svg")))
    say(console, f"published: {folder}, with {plural(pictures, 'plot')}")


def _packed(journal: Path, folder: Path, *, replace: bool) -> bytes:
    """The journal as it is published in `folder`.

    The same lines give the same bytes: they have no time and no file name, and a packed journal
    with these lines is kept, since versions of zlib pack differently.

    Raises:
        UsageError: the folder has another study, or other files.
    """
    lines, there = unpacked(journal), folder / PUBLISHED_NAME
    if there.is_file():
        known = unpacked(there)
        if known == lines:
            return there.read_bytes()
        if not replace and not lines.startswith(known):
            raise UsageError(f"{folder} has another study: name another folder, or use --replace")
    elif folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise UsageError(f"{folder} has other files: give each study a folder of its own")
    return gzip.compress(lines, compresslevel=9, mtime=0)


def _take_its_place(made: Path, folder: Path) -> None:
    """Move the files that were made into the folder, and remove older published files."""
    folder.mkdir(exist_ok=True)
    for name in PUBLISHED:
        new, old = made / name, folder / name
        if old.is_dir():
            shutil.rmtree(old)
        if new.exists():
            new.replace(old)
        else:
            old.unlink(missing_ok=True)


def unpacked(path: Path) -> bytes:
    """The content of a file, plain or gzipped.

    Raises:
        UsageError: it cannot be read, or a gzipped one has no end.
    """
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{path} cannot be unpacked: {reason}") from None


# ------------------------------------------------------------------------------------------ privacy
# Names of machines, and paths of users, in texts that are to be published.
#
# Records of runs have no such names (`scaling.run.redaction`), but facts that a user's own workload
# reports may have one.

# Folders that users own. (/usr, /proc and the like are the same everywhere, and reveal nothing.)
OWN = "home|root|Users|tmp|private|var|opt|srv|mnt|media|work|workspace|data"
# The start of a path, looked for behind its /. JSON may write the end of a line as \n.
BEGINS = r"(?:(?<![\w.~:/-]/)|(?<=\\n/)|(?<=\\t/))"
# A text that a file must contain, and the pattern that is then looked for. A pattern that does not
# begin with a fixed character would take a second for 16 MB, not 20 ms.
PATHS = {
    "/": rf"/{BEGINS}(?:{OWN})/[\w.+-]+",
    "Users\\": r"\b[A-Za-z]:\\+Users\\+[\w.+-]+",
}
EVERYBODYS = ("", "localhost")  # names that reveal no machine


def names_in(text: str) -> Iterator[tuple[int, str]]:
    """Users' paths and the name of this machine in a text: the line of each, from 1 on, and it."""
    ours = {each: rf"(?<![\w-]){re.escape(each)}(?![\w-])" for each in _ours()}
    patterns = [pattern for held, pattern in (PATHS | ours).items() if held in text]
    found = [each for pattern in patterns for each in re.finditer(pattern, text)]
    for each in sorted(found, key=re.Match.start):
        yield text.count("\n", 0, each.start()) + 1, each[0]


def _ours() -> Iterator[str]:
    if platform.node() not in EVERYBODYS:
        yield platform.node()
    with contextlib.suppress(RuntimeError):  # a user without a folder
        if str(home := Path.home()) != home.anchor:
            yield str(home)


def _refuse_names(made: Path) -> None:
    """Raise `ScalingError` if a file that is to be published has such a name."""
    for file in sorted(made.rglob("*.*")):
        for line, name in names_in(unpacked(file).decode(errors="replace")):
            raise ScalingError(
                f"{file.relative_to(made)}: line {line} names {name!r}, which may reveal who or "
                "where you are; nothing is published. Remove it from a copy of the study, and "
                "publish the copy"
            )
