"""Switches that a source describes and CPython does not have."""

from scaling.builds.settings.setting import Setting

NOT_IN_CPYTHON = "a switch that one of the claims is about; nothing in CPython reads it"
_IO_URING = "PYTHONASYNCIOUSEIOURING"

IO_URING = Setting(
    name="io-uring",
    summary=NOT_IN_CPYTHON,
    environment={_IO_URING: "1"},
    switches={_IO_URING: "1"},
)

NEW_SCHEDULER = Setting(
    name="new-scheduler",
    summary=NOT_IN_CPYTHON,
    switches={"asyncio.events._USE_NEW_SCHEDULER": True},
)
