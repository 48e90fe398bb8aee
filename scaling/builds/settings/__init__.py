"""The settings of arms. To add one, add an entry to a file here, and its name to `_ORDER`."""

from collections.abc import Mapping

from scaling.builds.settings import interpreter, loop, sharing
from scaling.builds.settings.setting import Setting

_ENTRIES = {
    each.name: each
    for module in (interpreter, loop, sharing)
    for each in vars(module).values()
    if isinstance(each, Setting)
}
# An arm's name lists its settings in this order, so new ones go to the end.
_ORDER = """
    gil mimalloc io-uring new-scheduler nogc gc50k gcfreeze recv64k buffered uvloop own-ssl eager
    jemalloc tcmalloc nopurge own-code own-app inherit0 warnings0 switch500us tlbc0 deferred
    to-thread gthread nomap columns own-data deferred-data immortal-data
"""
SETTINGS: Mapping[str, Setting] = {name: _ENTRIES.pop(name) for name in _ORDER.split()}
assert not _ENTRIES, "settings without a place"

REMEDIES: Mapping[str, Setting] = {
    name: setting for name, setting in SETTINGS.items() if setting.is_remedy
}
