"""The built-in study of remedies, of another workload or of a user's own application."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scaling.builds.settings.setting import GTHREAD
from scaling.study.app_options import AppAsked
from scaling.study.application import WORKLOAD, WSGI, study_name
from scaling.study.definition import WorkloadEntry
from scaling.study.file import StudyFile, load_study_file
from scaling.study.load import CLOSED, RATE

NAME = "remedies"
P99_RATE = "50%"  # of the peak: busy, and not so busy that latency is all queueing
LONGER = 2  # times the window, for an application: P99 needs 2,000 requests


def remedies_of(workloads: Sequence[str]) -> StudyFile:
    """The study of the workloads that the command line names; of `echo` if it names none."""
    file = load_study_file(NAME)
    names = (each.replace(":", "-") for each in workloads)
    return replace(file, values={**file.values, "name": "-".join([NAME, *names])})


def remedies_of_application(asked: AppAsked) -> StudyFile:
    """The study of an application at its peak, and at half of it for its P99.

    A WSGI application is served in threads without loops, as by `scaling app`.

    Raises:
        UsageError: `application` is not `package.module:name`.
    """
    file = load_study_file(NAME)
    values: dict[str, Any] = {**file.values, "name": f"{NAME}-{study_name(asked.application)}"}
    if asked.note.requests is not None:
        values["application"] = asked.note
    parameters = {"application": asked.application, "factory": asked.factory, "server": "loops"}
    if asked.interface == WSGI:
        parameters |= {"interface": WSGI, "server": GTHREAD}
    peak = WorkloadEntry(name=WORKLOAD, parameters={**parameters, RATE: CLOSED})
    at_rate = WorkloadEntry(
        name=WORKLOAD, parameters={**parameters, RATE: P99_RATE}, workers=("cores",)
    )
    presets = {
        name: {**preset, "window_s": LONGER * preset["window_s"]}
        for name, preset in file.presets.items()
    }
    return replace(file, values=values, workloads=(peak, at_rate), presets=presets)
