"""Every question of a comparison, in the order in which answers and tables are shown.

A question without a module has a plain table (`others`). To show one otherwise, write a module with
a `QUESTION` and name it here.
"""

from scaling.report.tables.questions import (
    break_even,
    gain,
    ladder,
    loops,
    memory,
    others,
    processes,
    runtimes,
    servers,
    settings,
    versions,
)

QUESTIONS = (
    gain.QUESTION,
    ladder.QUESTION,
    processes.QUESTION,
    servers.QUESTION,
    break_even.QUESTION,
    versions.QUESTION,
    settings.QUESTION,
    loops.QUESTION,
    runtimes.QUESTION,
    others.QUESTION,
    memory.QUESTION,
)
