"""The settings of arms: one entry each. To add one, add it to a file here and to the table.

An arm's name lists its settings in the order of the table, so new ones go to its end.
"""

from collections.abc import Mapping

from scaling.builds.settings import (
    allocator,
    claimed,
    collector,
    interpreter,
    ladder,
    serving,
    sharing,
    sockets,
    tasks,
)
from scaling.builds.settings.setting import Setting

SETTINGS: Mapping[str, Setting] = {
    setting.name: setting
    for setting in (
        ladder.GIL,
        ladder.MIMALLOC,
        claimed.IO_URING,
        claimed.NEW_SCHEDULER,
        collector.NO_COLLECTOR,
        collector.RARE_COLLECTOR,
        collector.FREEZE,
        sockets.SMALLER_READS,
        sockets.OWN_BUFFER,
        sockets.UVLOOP,
        sockets.OWN_CONTEXTS,
        tasks.EAGER,
        allocator.JEMALLOC,
        allocator.TCMALLOC,
        allocator.KEEP_PAGES,
        sharing.OWN_CODE,
        sharing.OWN_APPLICATION,
        sharing.NO_INHERITED_CONTEXT,
        sharing.NO_AWARE_WARNINGS,
        interpreter.SHORT_SWITCHES,
        interpreter.NO_THREAD_LOCAL_BYTECODE,
        interpreter.DEFERRED_FUNCTIONS,
        serving.TO_THREAD,
        serving.THREADS_WITHOUT_LOOPS,
        allocator.KEEP_BLOCKS,
        sharing.COLUMNS,
        sharing.OWN_DATA,
        sharing.DEFERRED_DATA,
        sharing.IMMORTAL_DATA,
    )
}

REMEDIES: Mapping[str, Setting] = {
    name: setting for name, setting in SETTINGS.items() if setting.is_remedy
}
