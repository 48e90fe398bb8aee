"""The steps of `scaling app` and `remedies`: what the application is, tried, checked, measured."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from scaling.analysis.forecast import announced
from scaling.base.console import say
from scaling.base.errors import ScalingError, UsageError
from scaling.builds.arms import parse_arms
from scaling.journal.check_file import AppCheck, write_check
from scaling.report.check import finding_lines
from scaling.run.app_requests import requirements_of
from scaling.run.application_trial import (
    check_of,
    interface_of,
    requests_of_schema,
    try_application,
)
from scaling.run.measure import folder_of, measure
from scaling.run.prepare import ChildNeeds, Prepared, prepared
from scaling.run.progress import display
from scaling.study.app_options import AppAsked
from scaling.study.application import WSGI, application_study, mixed_models
from scaling.study.definition import Options
from scaling.study.file import StudyFile

WSGI_SERVER = "gunicorn"  # the requirement that serves WSGI


@dataclass(frozen=True, kw_only=True)
class AppSteps:
    """The steps for an application. Progress and errors go to a console each.

    `options` are those of a study, `requests` a user's own. `study_of` makes the study.
    `interface` is what the application was found to be, once it is known.
    """

    asked: AppAsked
    needs: ChildNeeds
    options: Options
    requests: Sequence[Mapping[str, Any]]
    console: Console
    errors: Console
    study_of: Callable[[AppAsked], StudyFile] = application_study
    interface: str = ""

    def known(self) -> "AppSteps":
        """The same with what only the environment knows: the application's interface."""
        study = self.study_of(self.asked)  # what cannot be asked is refused before anything is made
        arms = parse_arms(self.options.said.get("arms", study.values["arms"]))
        names, files = self.needs.requirements, self.needs.requirement_files
        for build in dict.fromkeys(arm.build.name for arm in arms if arm.without_gil):
            own = self.needs.pythons.get(build)
            if names or files or own:
                say_what_blocks(names, [Path(each) for each in files], build, self.errors, own)
        if self.asked.interface == WSGI:
            return replace(self, interface=WSGI)
        with self._in_threads() as ready:
            interface = interface_of(ready)
        asked = replace(self.asked, interface=WSGI) if interface == WSGI else self.asked
        return replace(self, interface=interface, asked=asked)

    def with_schema(self) -> "AppSteps":
        """The same with the requests of the application's own schema."""
        with self._in_threads() as ready:
            requests, sent = requests_of_schema(ready, self._note)
        note = msgspec.structs.replace(self.asked.note, requests=sent)
        return replace(self, requests=requests, asked=replace(self.asked, note=note))

    @property
    def _mixed(self) -> tuple[str, ...]:
        """The mixed models that are asked for."""
        return mixed_models(self.asked.mixed) if self.asked.mixed else ()

    def check(self) -> AppCheck:
        """Only check that it is safe on several loops, or in several threads if it is of WSGI.

        It is not tried before: what a trial refuses may be what the check explains.
        """
        with self._in_threads() as ready:
            return check_of(ready, self._note, self._mixed)

    def measure(self, output: Path | None, *, checked: bool) -> Path:
        """Try it, check it if that is asked, measure it; the folder that the study is in."""
        with self.ready() as ready:
            for line in announced(ready.plan, folder_of(ready.plan, output)):
                say(self.console, line)
            try_application(ready)
            # The check serves WSGI on our own server, which a user's environment may not have.
            found = None
            if checked and not (self.asked.interface == WSGI and self.needs.pythons):
                found = check_of(ready, self._note, self._mixed)
                for line in finding_lines(found):
                    say(self.console, line)
            measured = measure(ready, output, display(self.console))
            if found:
                write_check(measured, found)
            return measured

    def _note(self, text: str) -> None:
        say(self.errors, text)

    def _in_threads(self) -> AbstractContextManager[Prepared]:
        """The same study prepared with threads alone, which is sooner."""
        return replace(self, asked=replace(self.asked, threads_only=True)).ready()

    @contextmanager
    def ready(self) -> Iterator[Prepared]:
        """The study, prepared; it can be run inside the context."""
        study, needs = self.study_of(self.asked), self.needs
        if not needs.pythons:
            server = [WSGI_SERVER] if self.asked.interface == WSGI else []
            more = [*server, *requirements_of(self.requests)]
            needs = replace(needs, requirements=[*needs.requirements, *more])
        options = replace(self.options, study=study.values["name"])
        with prepared(options, needs, self._note, study) as ready:
            yield replace(ready, requests=self.requests)


def say_what_blocks(
    names: Sequence[str], files: Sequence[Path], build: str, to: Console, python: Path | None = None
) -> None:
    """Print what of a user's requirements blocks `build`, before an environment is made of them.

    With `python`, of what is installed in that environment. What cannot be found out is said in a
    line, too: what comes next may still succeed.

    Raises:
        UsageError: a package cannot be installed, so no environment can be made.
    """
    from scaling.builds.cpython import inspect
    from scaling.builds.interpreters import ensure
    from scaling.builds.ready.examine import examine, examine_installed
    from scaling.builds.ready.resolve import Required
    from scaling.report.ready import blocking_lines

    note = partial(say, to)
    interpreter = inspect(python) if python else ensure([build], say=note)[build]
    try:
        if python:
            found = examine_installed(python, interpreter, say=note)
        else:
            found = examine(Required(names=names, files=files), interpreter, say=note)
    except ScalingError as error:
        say(to, f"not known whether what it requires is ready for {build}: {error}")
        return
    lines = [found.sentence, *blocking_lines(found)]
    if any(each.has == "nothing" for each in found.packages):
        raise UsageError("\n".join(lines))
    for line in lines:
        say(to, line)
