"""What a host is asked to measure, and what it answers: JSON, so that no code is sent."""

from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Annotated, Self

import msgspec
from msgspec import Meta

from scaling.base.files import text_in
from scaling.journal.folder import State
from scaling.journal.record import StudyLine
from scaling.machine.identity import state_folder
from scaling.run.measure import running_build
from scaling.run.prepare import ChildNeeds
from scaling.study.definition import Options, Study
from scaling.study.file import (
    DEFAULT_STUDY,
    StudyFile,
    built_in_studies,
    load_study_file,
    read_study,
    study_from,
)

RESOURCES = {"host": 1}  # what a task takes of a host: one at a time
SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3")
LABEL = r"^[a-z0-9][a-z0-9-]{0,30}$"


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A study as the command line asks for it, with the text of its file, for one host.

    `results` is the random id of the results folder, `label` the name of the host in it; on the
    host both are parts of a path.
    """

    results: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
    label: Annotated[str, Meta(pattern=LABEL)]
    options: Options
    wanted: ChildNeeds
    study_text: str | None = None

    @classmethod
    def of(cls, options: Options, wanted: ChildNeeds, results: str, label: str) -> Self:
        """The request of a command line.

        Raises:
            UsageError: there is no such study file.
        """
        study, sent = options.study or DEFAULT_STUDY, copy(options)
        built_in = study in built_in_studies()
        sent.study = study if built_in else Path(study).name
        if "arms" not in {**load_study_file(study).values, **options.flags}:
            # Ours: a host may run on another.
            sent.flags = {**options.flags, "arms": (running_build(),)}
        return cls(
            results=results,
            label=label,
            options=sent,
            wanted=wanted,
            study_text=None if built_in else text_in(Path(study)),
        )

    @property
    def asked(self) -> Study:
        """The study itself, as far as it can be known without an environment.

        Raises:
            UsageError: an unknown name or a value that makes no sense.
        """
        return study_from(self.options, running_build=running_build(), load_file=self.load_file)

    @property
    def load_file(self) -> Callable[[str], StudyFile]:
        """How the study file is loaded: from the text in the request, unless it is built in."""
        text = self.study_text
        return load_study_file if text is None else lambda name: read_study(text, name)

    def folder(self, environment: dict[str, str]) -> Path:
        """The folder on the host that has its journal."""
        return state_folder(environment) / "hosts" / self.results / self.label

    @property
    def name(self) -> str:
        """What its host calls it."""
        return self.results + self.label


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a driver prints, and its host sends. `total` runs will be in the journal, so far.

    `head` is the first line that the journal has or will have, `held_bytes` its length so far, and
    `journal` what it has got since. The last event has a `state`, and `why` for the user.
    """

    say: str | None = None
    total: int | None = None
    head: StudyLine | None = None
    held_bytes: int = 0
    journal: str = ""
    state: State | None = None
    why: str = ""
