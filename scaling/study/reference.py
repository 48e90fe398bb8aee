"""The studies that a reference session makes, as reference.toml lists them."""

import shlex
from collections.abc import Sequence
from importlib import resources

import msgspec

from scaling.base.errors import UsageError, unknown
from scaling.base.toml_file import converted, document, title

FILE_NAME = "reference.toml"


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


def reference_studies(only: Sequence[str] | None = None) -> list[ReferenceStudy]:
    """All of them, or those of these names, in the order of their value.

    Raises:
        UsageError: there is no study of such a name.
    """
    text = (resources.files("scaling.study") / FILE_NAME).read_text("utf-8")
    tables = document(text, FILE_NAME)["studies"]
    studies = [
        converted(table, ReferenceStudy, f"{FILE_NAME}: {title('study', number, table)}")
        for number, table in enumerate(tables, start=1)
    ]
    known = [study.name for study in studies]
    if len(set(known)) < len(known):
        raise UsageError(f"{FILE_NAME}: two studies have one name")
    for name in only or ():
        if name not in known:
            raise unknown("reference study", name, known)
    return [study for study in studies if not only or study.name in only]
