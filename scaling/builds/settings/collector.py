"""The cyclic garbage collector: off, less often, or with less to look at."""

from scaling.builds.settings.setting import Setting

# What is often recommended for web servers instead of switching the collector off.
RARE_COLLECTIONS = 50_000

NO_COLLECTOR = Setting(
    name="nogc",
    summary="the cyclic garbage collector switched off",
    cell={"gc": False},
    reads_back={"gc_enabled": False},
    source="https://docs.python.org/3/library/gc.html#gc.disable",
    lines=("import gc", "gc.disable()  # cycles are never freed: restart workers before it hurts"),
    instead_of="collector",
)

RARE_COLLECTOR = Setting(
    name="gc50k",
    summary="the collector starts after 50,000 new objects (2,000 by default in 3.14)",
    cell={"gc_threshold": RARE_COLLECTIONS},
    reads_back={"gc_threshold": RARE_COLLECTIONS},
    source="https://engineered.at/articles/20-faster-python-with-a-single-gc-tweak",
    lines=("import gc", f"gc.set_threshold({RARE_COLLECTIONS:_})"),
    instead_of="collector",
)

FREEZE = Setting(
    name="gcfreeze",
    summary="gc.freeze just before the window: the collector never looks at what exists by then",
    switches={"gc.freeze": True},
    source="https://docs.python.org/3/library/gc.html#gc.freeze",
    lines=("import gc", "gc.freeze()  # once the application has started and is warm"),
    instead_of="collector",
)
