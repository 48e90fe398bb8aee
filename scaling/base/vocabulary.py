"""The names of models and sizings, in the order in which they are listed."""

from collections.abc import Mapping

MODELS = ("threads", "processes", "interpreters")

# What one worker is, under each model.
WORKER: Mapping[str, str] = {
    "threads": "thread",
    "processes": "process",
    "interpreters": "interpreter",
}

SIZINGS: Mapping[str, str] = {
    "weak": "the same work in flight for each worker",
    "strong": "the same work in flight in total",
}
