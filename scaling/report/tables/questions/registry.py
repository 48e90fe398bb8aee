"""Every question of a comparison, in the order in which answers and tables are shown.

To add one, write a module with a `QUESTION` and name it here.
"""

from scaling.report.tables.questions import (
    break_even,
    gain,
    ladder,
    loops,
    memory,
    processes,
    runtimes,
    settings,
    versions,
)

QUESTIONS = (
    gain.QUESTION,
    ladder.QUESTION,
    processes.QUESTION,
    break_even.QUESTION,
    versions.QUESTION,
    settings.QUESTION,
    loops.QUESTION,
    runtimes.QUESTION,
    memory.QUESTION,
)
