"""The words that a study chooses among, in the order in which they are told: one home for all."""

from collections.abc import Mapping

MODELS = ("threads", "processes", "interpreters")

# What one worker is, under each of them.
WORKER: Mapping[str, str] = {
    "threads": "thread",
    "processes": "process",
    "interpreters": "interpreter",
}

SIZINGS: Mapping[str, str] = {
    "weak": "the same work in flight for each worker",
    "strong": "the same work in flight in total",
}
