"""The names of models, sizings and questions, in the order in which they are listed."""

from collections.abc import Mapping
from typing import Literal, get_args

MODELS = ("threads", "processes", "forked", "interpreters")
THREADS = "threads"
PROCESSES = ("processes", "forked")  # a process for each worker: what threads are compared with

# What one worker is, under each model.
WORKER: Mapping[str, str] = {
    "threads": "thread",
    "processes": "process",
    "forked": "forked process",
    "interpreters": "interpreter",
}

# What several are.
WORKERS: Mapping[str, str] = {model: model for model in MODELS} | {"forked": "forked processes"}

SIZINGS: Mapping[str, str] = {
    "weak": "the same work in flight for each worker",
    "strong": "the same work in flight in total",
}

# Kinds of ratio that a study can name as its primary questions, as comparison.csv calls them; those
# of a study that names none.
QUESTIONS = ("gain", "headline", "over processes", "version", "setting", "loop", "runtime")
PRIMARY_QUESTIONS = ("gain", "over processes")

# Numbers of workers that a machine decides (`scaling.machine.topology.worker_counts`).
CountWord = Literal["1..cores", "cores", "cpus", "2x-cpus"]
COUNT_WORDS: tuple[CountWord, ...] = get_args(CountWord)
