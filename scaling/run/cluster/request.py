"""What a host is asked to measure: a JSON document, so that no code is sent."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta

from scaling.base.files import text_in
from scaling.machine.identity import state_folder
from scaling.run.measure import running_build
from scaling.run.prepare import ChildNeeds
from scaling.study.combine import DEFAULT_STUDY, study_from
from scaling.study.definition import Study
from scaling.study.file import StudyFile, built_in_studies, load_study_file, read_study
from scaling.study.options import Options

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
    study: str
    study_text: str | None = None
    workload: tuple[str, ...] = ()
    set: tuple[str, ...] = ()
    flags: dict[str, Any] = {}
    paths: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    pgo: bool = False

    @classmethod
    def of(cls, options: Options, wanted: ChildNeeds, results: str, label: str) -> Self:
        """The request of a command line.

        Raises:
            UsageError: there is no such study file.
        """
        study, flags = options.study or DEFAULT_STUDY, dict(options.flags)
        built_in = study in built_in_studies()
        if "arms" not in {**load_study_file(study).values, **flags}:
            flags["arms"] = (running_build(),)  # ours: a host may run on another
        return cls(
            results=results,
            label=label,
            study=study if built_in else Path(study).name,
            study_text=None if built_in else text_in(Path(study)),
            workload=options.workload,
            set=options.set,
            flags=flags,
            paths=tuple(wanted.paths),
            requirements=tuple(wanted.requirements),
            pgo=wanted.pgo,
        )

    @property
    def options(self) -> Options:
        """The options of the study."""
        made = Options(study=self.study, workload=self.workload, set=self.set)
        made.flags = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in self.flags.items()
        }
        return made

    @property
    def asked(self) -> Study:
        """The study itself, as far as it can be known without an environment.

        Raises:
            UsageError: an unknown name or a value that makes no sense.
        """
        return study_from(self.options, running_build=running_build(), load_file=self.load_file)

    @property
    def wanted(self) -> ChildNeeds:
        """What has to be prepared."""
        return ChildNeeds(paths=self.paths, requirements=self.requirements, pgo=self.pgo)

    @property
    def load_file(self) -> Callable[[str], StudyFile]:
        """How the study file is loaded: from the text in the request, unless it is built in."""
        text = self.study_text
        return load_study_file if text is None else lambda name: read_study(text, name)

    def folder(self, environment: dict[str, str]) -> Path:
        """The folder on the host that has its journal."""
        return state_folder(environment) / "hosts" / self.results / self.label

    def encode(self) -> str:
        """As JSON."""
        return msgspec.json.encode(self).decode()


def decode_request(text: str | bytes) -> Request:
    """The request in a JSON document.

    Raises:
        msgspec.DecodeError: it is none.
    """
    return msgspec.json.decode(text, type=Request)
