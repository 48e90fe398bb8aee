"""The names of sizings and questions, in the order in which they are listed."""

from collections.abc import Mapping
from typing import Literal, get_args

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
