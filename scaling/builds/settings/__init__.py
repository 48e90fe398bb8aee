"""The settings of arms: one entry each. To add one, add it to a file here and to the table.

An arm's name lists its settings in the order of the table, so new ones go to its end.
"""

from collections.abc import Mapping

from scaling.builds.settings import interpreter, loop, sharing
from scaling.builds.settings.setting import Setting

SETTINGS: Mapping[str, Setting] = {
    setting.name: setting
    for setting in (
        interpreter.GIL,
        interpreter.MIMALLOC,
        interpreter.IO_URING,
        interpreter.NEW_SCHEDULER,
        interpreter.NO_COLLECTOR,
        interpreter.RARE_COLLECTOR,
        interpreter.FREEZE,
        loop.SMALLER_READS,
        loop.OWN_BUFFER,
        loop.UVLOOP,
        loop.OWN_CONTEXTS,
        loop.EAGER,
        interpreter.JEMALLOC,
        interpreter.TCMALLOC,
        interpreter.KEEP_PAGES,
        sharing.OWN_CODE,
        sharing.OWN_APPLICATION,
        sharing.NO_INHERITED_CONTEXT,
        sharing.NO_AWARE_WARNINGS,
        interpreter.SHORT_SWITCHES,
        interpreter.NO_THREAD_LOCAL_BYTECODE,
        interpreter.DEFERRED_FUNCTIONS,
        sharing.TO_THREAD,
        sharing.THREADS_WITHOUT_LOOPS,
        interpreter.KEEP_BLOCKS,
        sharing.COLUMNS,
        sharing.OWN_DATA,
        sharing.DEFERRED_DATA,
        sharing.IMMORTAL_DATA,
    )
}

REMEDIES: Mapping[str, Setting] = {
    name: setting for name, setting in SETTINGS.items() if setting.is_remedy
}
