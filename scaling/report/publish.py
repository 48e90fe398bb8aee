"""`scaling publish`: a study put where it can be committed, with all that can be read there.

The journal is packed and everything else is written anew from it; there are no PNGs, since a
repository keeps every version of them, and the page shows the plots' files instead of having its
own. It is made beside the folder first, so that the folder never holds half of one study and half
of another.
"""

import contextlib
import gzip
import json
import platform
import re
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from rich.console import Console

from scaling.analysis.results import StudyResults, extent
from scaling.analysis.table.load import Journal
from scaling.base import formats
from scaling.base.console import say
from scaling.base.errors import ScalingError, UsageError
from scaling.journal.beside import NAMES as BESIDE
from scaling.journal.file import FILE_NAME as JOURNAL_NAME
from scaling.journal.protected_write import try_writing
from scaling.journal.reading import PUBLISHED_NAME
from scaling.journal.record import ArmRecord, Machine, StudyLine
from scaling.report.files import (
    COMPARISON,
    LAWS,
    LOSSES,
    PLOTS,
    SUMMARY,
    TABLES,
    read,
    write_derived,
)
from scaling.report.page import facts
from scaling.report.page.facts import command, study_file
from scaling.report.tables.notes import about

# ------------------------------------------------------------------------------------------- packed
# A journal as it is published: gzipped, so that the same journal gives the same bytes.


def packed(journal: bytes) -> bytes:
    """The lines of a journal, gzipped; no instant and no file name go into it."""
    return gzip.compress(journal, compresslevel=9, mtime=0)


def unpacked(path: Path) -> bytes:
    """The lines of a journal file, plain or gzipped.

    Raises:
        UsageError: it cannot be read, or a gzipped one has no end.
    """
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{path} cannot be unpacked: {reason}") from None


# ------------------------------------------------------------------------------------ privacy check
# Whether a text that is to be published names a machine, or where somebody keeps files on it.
#
# Runs are written down without such names in the first place (`scaling.run.redaction`); what a
# user's own workload says of itself may still hold one.

# Folders that are somebody's own. (/usr, /proc and the like are everybody's, and reveal nothing.)
OWN = "home|root|Users|tmp|private|var|opt|srv|mnt|media|work|workspace|data"
# What may be before a path, looked for behind its /. JSON may write the end of a line as \n.
BEGINS = r"(?:(?<![\w.~:/-]/)|(?<=\\n/)|(?<=\\t/))"
# What a text must hold, and the pattern that is looked for where it does. One that began with
# something else than a letter of its own would take a second for 16 MB, not 20 ms.
PATHS = {
    "/": rf"/{BEGINS}(?:{OWN})/[\w.+-]+",
    "Users\\": r"\b[A-Za-z]:\\+Users\\+[\w.+-]+",
}
EVERYBODYS = ("", "localhost")  # names that no machine is known by


def names_in(text: str) -> Iterator[tuple[int, str]]:
    """Absolute paths in a text, the user's own folder and the name of this machine: the line, from
    1 on, that holds each, and the name.
    """
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


# -------------------------------------------------------------------------------------- environment
# What a study was measured on and with, in a file that can be read without unpacking anything.
#
# All of it is in the journal's first line; here it has names that explain themselves. Values that
# the machine does not report are null.

FILE_NAME = "environment.json"
SCHEMA = 1


def environment(journal: Journal) -> dict[str, Any]:
    """The document: the study and how to have it again, the machine, each arm, every setting."""
    study, found = journal.study, extent(journal)
    return {
        "schema": SCHEMA,
        "study": study.name,
        "date": found.date,
        "begun": found.begun,
        "ended": found.ended,
        "minutes": round(found.minutes, 1),
        "blocks": found.blocks,
        "runs": found.runs,
        "invalid_runs": found.invalid,
        "seed": study.seed,
        "controls": about(journal).get("controls"),
        **({"simulated": True} if study.simulated else {}),
        "command": command(study) if study_file(study) else None,
        "machine": _machine(study.machine),
        "arms": {name: _arm(arm) for name, arm in study.arms.items()},
        "services": [msgspec.to_builtins(each) for each in journal.ceilings],
        "settings": study.study,
        "made_by": _made_by(study),
    }


def environment_text(journal: Journal) -> str:
    """The same as the text of the file."""
    return json.dumps(environment(journal), ensure_ascii=False, indent=2) + "\n"


def _machine(machine: Machine) -> dict[str, Any]:
    """What is known of it; bytes are counted in whole ones. Older journals do not say `caches`."""
    memory_bytes = machine.memory_bytes
    whole = None if memory_bytes is None else round(memory_bytes)
    facts = {**msgspec.to_builtins(machine), "memory_bytes": whole}
    if machine.caches is None:
        del facts["caches"]
    return facts


def _arm(arm: ArmRecord) -> dict[str, Any]:
    """An arm: facts about its interpreter and its packages, all on one level."""
    described = arm.description
    return {
        "build": arm.build,
        "settings": arm.settings,
        "origin": arm.origin,
        **({"runtime": arm.runtime} if arm.runtime else {}),
        **({"python": msgspec.to_builtins(described.python)} if described else {}),
        **({"packages": dict(sorted(described.packages.items()))} if described else {}),
    }


def _made_by(study: StudyLine) -> dict[str, str | None]:
    """Which code measured it; digests are SHA-256."""
    return {
        "scaling": study.scaling,
        "pins": study.pins,
        "workers_source": study.workers_source,
        "fingerprint": study.fingerprint,
    }


# ------------------------------------------------------------------------------------------- folder

PAGE = "index.html"  # report.html is a page that stands alone
PUBLISHED = (
    *(PUBLISHED_NAME, FILE_NAME, facts.FILE_NAME, PAGE),
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
    from scaling.report.page.parts import Pictures
    from scaling.report.page.render import write_page

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
    described = environment_text(journal)
    (folder / FILE_NAME).write_text(described, encoding="utf-8")
    if document := facts.study_file(journal.study):
        (folder / facts.FILE_NAME).write_text(document, encoding="utf-8")


def _refuse_names(path: Path, lines: bytes) -> None:
    found = next(names_in(lines.decode(errors="replace")), None)
    if found is not None:
        line, name = found
        raise ScalingError(
            f"{path}: line {line} names {name!r}, which may reveal who or where you are; nothing "
            "is published. Take it out of a copy of the study, and publish that"
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
