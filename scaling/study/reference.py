"""The studies that a reference session makes, as reference.toml lists them."""

import shlex
import tomllib
from collections.abc import Collection, Iterator
from functools import cache
from importlib import resources

import msgspec

from scaling.base.errors import UsageError, unknown

FILE_NAME = "reference.toml"
WORKERS = "--workers"
USUAL_COUNTS = 2  # `minutes` are those of N = 1 and 2
OUTSIDE = "outside"
"""The group of the studies of programs."""
PROGRAMS_FOLDER = "tests/applications/outside"


class ReferenceStudy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One study: the folder that it is published in, and the command that measures it.

    `batch` is the number of those that are measured together with it, `group` a name for several.
    """

    name: str
    command: str
    minutes: float
    batch: int = 1
    source: str = ""
    every_version: bool = False
    pgo: bool = True
    own_workers: bool = False
    group: str = ""

    @property
    def arguments(self) -> list[str]:
        """The command as arguments of `scaling`."""
        return shlex.split(self.command)

    def with_workers(self, text: str, count: int) -> "ReferenceStudy":
        """The study with the Ns of `text`, which are `count`; itself if it has Ns of its own."""
        if self.own_workers:
            return self
        words = self.arguments
        if WORKERS in words:
            words[words.index(WORKERS) + 1] = text
        else:
            words += [WORKERS, text]
        minutes = self.minutes * max(count, USUAL_COUNTS) / USUAL_COUNTS
        return msgspec.structs.replace(self, command=shlex.join(words), minutes=minutes)


class OutsideProgram(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A program that others wrote, as two studies: what it does, and what remedies bring to it.

    `folder` has its `requirements.txt` with the versions, and its `requests.jsonl`; by default it
    is called like the program. `options` are those of both commands, `remedies` those of the second
    alone.
    """

    name: str
    application: str
    folder: str = ""
    options: str = ""
    remedies: str = ""
    minutes: float
    remedies_minutes: float
    batch: int = 2
    remedies_batch: int = 3

    @property
    def source(self) -> str:
        """Its folder in the repository."""
        return f"{PROGRAMS_FOLDER}/{self.folder or self.name}"

    def studies(self) -> Iterator[ReferenceStudy]:
        """The study of `scaling app`, then that of `scaling remedies`."""
        files = (
            f"--with-requirements {self.source}/requirements.txt "
            f"--requests {self.source}/requests.jsonl"
        )
        asked = f"{self.application} {self.options} {files}"
        # What a remedy brings to one worker would take a third of the time.
        remedies = f"remedies --app {asked} {self.remedies} {WORKERS} {USUAL_COUNTS}"
        for suffix, command, minutes, batch in (
            ("", f"app {asked}", self.minutes, self.batch),
            ("-remedies", remedies, self.remedies_minutes, self.remedies_batch),
        ):
            yield ReferenceStudy(
                name=f"{OUTSIDE}-{self.name}{suffix}",
                command=command,
                minutes=minutes,
                batch=batch,
                group=OUTSIDE,
                source=self.source,
            )


@cache
def _listed() -> tuple[list[OutsideProgram], list[ReferenceStudy]]:
    """The programs that others wrote, and the studies of all else, in the order of the list."""
    text = (resources.files("scaling.study") / FILE_NAME).read_text("utf-8")
    tables = tomllib.loads(text)
    return (
        msgspec.convert(tables.get("programs", []), list[OutsideProgram]),
        msgspec.convert(tables.get("studies", []), list[ReferenceStudy]),
    )


def outside_programs() -> list[OutsideProgram]:
    """The programs that others wrote, in the order of the list."""
    return _listed()[0]


def reference_studies(
    only: Collection[str] = (), batches: Collection[str] = ()
) -> list[ReferenceStudy]:
    """All of them, or those of these names, groups and batches, in the order of their value.

    Raises:
        UsageError: there is no study or batch of such a name, or none that is of both.
    """
    programs, others = _listed()
    of_programs = [study for program in programs for study in program.studies()]
    studies = sorted([*of_programs, *others], key=lambda study: study.batch)
    names = [study.name for study in studies]
    if len(set(names)) < len(names):
        raise UsageError(f"{FILE_NAME}: two studies have one name")
    names += dict.fromkeys(study.group for study in studies if study.group)
    numbers = [str(study.batch) for study in studies]
    for what, asked, known in (("reference study", only, names), ("batch", batches, numbers)):
        for name in asked:
            if name not in known:
                raise unknown(what, name, known)
    chosen = [
        study
        for study in studies
        if (not only or {study.name, study.group} & {*only})
        and (not batches or str(study.batch) in batches)
    ]
    if not chosen:
        raise UsageError("--only and --batch have no study in common")
    return chosen
