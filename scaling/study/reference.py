"""The studies that a reference session makes, as reference.toml lists them."""

import shlex
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any

import msgspec

from scaling.base.errors import UsageError, unknown
from scaling.base.toml_file import converted, document, title

FILE_NAME = "reference.toml"
OUTSIDE = "outside"
"""The group of the studies of programs, and their folder among those that are published."""
REMEDIES = "-remedies"
PROGRAMS_FOLDER = "tests/applications/outside"


class ReferenceStudy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One study: the folder that it is published in, and the command that measures it."""

    name: str
    command: str
    minutes: float
    source: str = ""
    every_version: bool = False
    pgo: bool = True

    @property
    def arguments(self) -> list[str]:
        """The command as arguments of `scaling`."""
        return shlex.split(self.command)

    @property
    def group(self) -> str:
        """What its name begins with: `outside` of `outside/httpbin`; empty without."""
        return self.name.rpartition("/")[0]


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
        yield ReferenceStudy(
            name=f"{OUTSIDE}/{self.name}",
            command=f"app {asked}",
            minutes=self.minutes,
            source=self.source,
        )
        yield ReferenceStudy(
            name=f"{OUTSIDE}/{self.name}{REMEDIES}",
            command=f"remedies --app {asked} {self.remedies}",
            minutes=self.remedies_minutes,
            source=self.source,
        )


def outside_programs() -> list[OutsideProgram]:
    """The programs that others wrote, in the order of the list."""
    return _read(OutsideProgram, "programs", "program")


def reference_studies(only: Sequence[str] | None = None) -> list[ReferenceStudy]:
    """All of them, or those of these names or groups, in the order of their value.

    Raises:
        UsageError: there is no study of such a name.
    """
    studies = _read(ReferenceStudy, "studies", "study")
    studies += [study for program in outside_programs() for study in program.studies()]
    known = [study.name for study in studies]
    if len(set(known)) < len(known):
        raise UsageError(f"{FILE_NAME}: two studies have one name")
    names = dict.fromkeys([*known, *(study.group for study in studies if study.group)])
    for name in only or ():
        if name not in names:
            raise unknown("reference study", name, names)
    return [each for each in studies if not only or {each.name, each.group} & {*only}]


def _read[Kind: (ReferenceStudy, OutsideProgram)](
    kind: type[Kind], key: str, noun: str
) -> list[Kind]:
    text = (resources.files("scaling.study") / FILE_NAME).read_text("utf-8")
    tables: list[Any] = document(text, FILE_NAME)[key]
    return [
        converted(table, kind, f"{FILE_NAME}: {title(noun, number, table)}")
        for number, table in enumerate(tables, start=1)
    ]
