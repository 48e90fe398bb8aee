"""The studies that a reference session makes, as reference.toml lists them."""

import shlex
from collections.abc import Collection
from importlib import resources

import msgspec

from scaling.base.errors import UsageError, unknown
from scaling.base.toml_file import converted, document, title

FILE_NAME = "reference.toml"
WORKERS = "--workers"
USUAL_COUNTS = 2  # `minutes` are those of N = 1 and 2


class ReferenceStudy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One study: the folder that it is published in, and the command that measures it.

    `batch` is the number of those that are measured together with it.
    """

    name: str
    command: str
    minutes: float
    batch: int = 1
    source: str = ""
    every_version: bool = False
    pgo: bool = True
    own_workers: bool = False

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


def reference_studies(
    only: Collection[str] = (), batches: Collection[str] = ()
) -> list[ReferenceStudy]:
    """All of them, or those of these names and batches, in the order of their value.

    Raises:
        UsageError: there is no study or batch of such a name, or none that is of both.
    """
    text = (resources.files("scaling.study") / FILE_NAME).read_text("utf-8")
    tables = document(text, FILE_NAME)["studies"]
    studies = [
        converted(table, ReferenceStudy, f"{FILE_NAME}: {title('study', number, table)}")
        for number, table in enumerate(tables, start=1)
    ]
    names = [study.name for study in studies]
    if len(set(names)) < len(names):
        raise UsageError(f"{FILE_NAME}: two studies have one name")
    numbers = [str(study.batch) for study in studies]
    for what, asked, known in (("reference study", only, names), ("batch", batches, numbers)):
        for name in asked:
            if name not in known:
                raise unknown(what, name, known)
    chosen = [
        study
        for study in studies
        if (not only or study.name in only) and (not batches or str(study.batch) in batches)
    ]
    if not chosen:
        raise UsageError("--only and --batch have no study in common")
    return chosen
