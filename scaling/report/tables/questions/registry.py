"""Every question of a comparison, in the order in which answers and tables are shown.

To add one, write a module with a `QUESTION` and name it here.
"""

from scaling.report.tables.questions import (
    break_even,
    collector,
    gain,
    ladder,
    loops,
    memory,
    processes,
    runtimes,
    versions,
)

QUESTIONS = (
    gain.QUESTION,
    ladder.QUESTION,
    processes.QUESTION,
    break_even.QUESTION,
    versions.QUESTION,
    collector.QUESTION,
    loops.QUESTION,
    runtimes.QUESTION,
    memory.QUESTION,
)
