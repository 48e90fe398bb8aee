"""The steps of `scaling app` and `remedies --app`: find the interface, try, check, measure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from scaling.analysis.forecast import announced
from scaling.base.console import new_console, say
from scaling.base.errors import ScalingError, UsageError
from scaling.builds.arms import parse_arms
from scaling.journal.check_file import AppCheck, write_check
from scaling.report.check import finding_lines
from scaling.run.app_requests import read_requests_file, requirements_of
from scaling.run.application_trial import (
    check_of,
    interface_of,
    requests_of_schema,
    try_application,
)
from scaling.run.measure import folder_of, measure
from scaling.run.openapi import OPENAPI
from scaling.run.prepare import ChildNeeds, Prepared, prepared
from scaling.run.progress import display
from scaling.study.app_options import AppAsked
from scaling.study.application import WSGI, application_study, mixed_models
from scaling.study.application_note import ApplicationNote
from scaling.study.definition import Options
from scaling.study.file import StudyFile

WSGI_SERVER = "gunicorn"  # the requirement that serves WSGI


@dataclass(frozen=True, kw_only=True)
class AppSteps:
    """The steps of an application; results go to `console`, notes to `errors`.

    `options` are those of a study, `requests` the user's own. `study_of` makes the study.
    `interface` is the application's, once it is known.
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
        """The steps with the application's interface, which only a child finds out."""
        study = self.study_of(self.asked)  # raises before any environment is made
        arms = parse_arms(self.options.said.get("arms", study.values["arms"]))
        names, files = self.needs.requirements, self.needs.requirement_files
        for build in dict.fromkeys(arm.build.name for arm in arms if arm.without_gil):
            own = self.needs.pythons.get(build)
            if names or files or own:
                say_what_blocks(names, [Path(each) for each in files], build, self.errors, own)
        if self.asked.interface == WSGI:
            return replace(self, interface=WSGI)
        with self._in_threads() as in_threads:
            interface = interface_of(in_threads)
        asked = replace(self.asked, interface=WSGI) if interface == WSGI else self.asked
        return replace(self, interface=interface, asked=asked)

    def with_schema(self) -> "AppSteps":
        """The steps with the requests of the application's own schema."""
        with self._in_threads() as study:
            requests, sent = requests_of_schema(study, self._note)
        note = msgspec.structs.replace(self.asked.note, requests=sent)
        return replace(self, requests=requests, asked=replace(self.asked, note=note))

    @property
    def _mixed(self) -> tuple[str, ...]:
        """The mixed models to measure."""
        return mixed_models(self.asked.mixed) if self.asked.mixed else ()

    def check(self) -> AppCheck:
        """Only check the application on several loops, or in several threads if it is WSGI.

        Nothing is tried before: the check may explain what a trial refuses.
        """
        with self._in_threads() as study:
            return check_of(study, self._note, self._mixed)

    def measure(self, output: Path | None, *, checked: bool) -> Path:
        """Try the application, check it if `checked`, measure it; return the study's folder."""
        with self.prepared() as study:
            for line in announced(study.plan, folder_of(study.plan, output)):
                say(self.console, line)
            try_application(study)
            # The check serves WSGI on our own server, which a user's environment may not have.
            found = None
            if checked and not (self.asked.interface == WSGI and self.needs.pythons):
                found = check_of(study, self._note, self._mixed)
                for line in finding_lines(found):
                    say(self.console, line)
            measured = measure(study, output, display(self.console))
            if found:
                write_check(measured, found)
            return measured

    def _note(self, text: str) -> None:
        say(self.errors, text)

    def _in_threads(self) -> AbstractContextManager[Prepared]:
        """The study, prepared with threads alone, which is faster."""
        return replace(self, asked=replace(self.asked, threads_only=True)).prepared()

    @contextmanager
    def prepared(self) -> Iterator[Prepared]:
        """The study, prepared: it can be run inside the context."""
        study, needs = self.study_of(self.asked), self.needs
        if not needs.pythons:
            server = [WSGI_SERVER] if self.asked.interface == WSGI else []
            more = [*server, *requirements_of(self.requests)]
            needs = replace(needs, requirements=[*needs.requirements, *more])
        options = replace(self.options, study=study.values["name"])
        with prepared(options, needs, self._note, study) as made:
            yield replace(made, requests=self.requests)


def steps_of(
    asked: AppAsked,
    needs: ChildNeeds,
    options: Options,
    file: Path | None,
    host: str,
    console: Console,
    *,
    study_of: Callable[[AppAsked], StudyFile] = application_study,
) -> AppSteps:
    """The steps of an application, with its interface, and the requests of `file` or its schema.

    Raises:
        UsageError: an option, a requirement or the file does not fit.
        ScalingError: the application cannot be imported.
    """
    errors = new_console(stderr=True)
    requests: Sequence[Mapping[str, Any]] = ()
    sent = None
    of_schema = file == Path(OPENAPI)
    if file and not of_schema:
        requests, sent = read_requests_file(file, partial(say, errors), host)
    note = ApplicationNote.of(sent, needs.variables)
    gil, free = needs.pythons or asked.builds
    steps = AppSteps(
        asked=replace(asked, note=note, builds=(gil, free)),
        needs=needs,
        options=options,
        requests=requests,
        console=console,
        errors=errors,
        study_of=study_of,
    ).known()
    return steps.with_schema() if of_schema else steps


def say_what_blocks(
    names: Sequence[str], files: Sequence[Path], build: str, to: Console, python: Path | None = None
) -> None:
    """Print which of a user's requirements block `build`, before an environment is made of them.

    With `python` the packages installed in its environment are examined instead. If that fails, the
    reason is printed: the next step may still succeed.

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
        say(to, f"not known whether the requirements are ready for {build}: {error}")
        return
    lines = [found.sentence, *blocking_lines(found)]
    if any(each.has == "nothing" for each in found.packages):
        raise UsageError("\n".join(lines))
    for line in lines:
        say(to, line)
