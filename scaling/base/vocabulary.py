"""Names that users type: sizings, primary questions, words for numbers of workers."""

from collections.abc import Mapping
from typing import Literal, get_args

SIZINGS: Mapping[str, str] = {
    "weak": "the same work in flight for each worker",
    "strong": "the same work in flight in total",
}

# Questions that a study may name as primary, as in comparison.csv; and the primary ones of a
# study that names none.
MAY_BE_PRIMARY = ("gain", "headline", "over processes", "version", "setting", "loop", "runtime")
PRIMARY_QUESTIONS = ("gain", "over processes")

# Words for numbers of workers; the machine decides them (`scaling.machine.topology`).
CountWord = Literal["1..cores", "cores", "cpus", "2x-cpus"]
COUNT_WORDS: tuple[CountWord, ...] = get_args(CountWord)
