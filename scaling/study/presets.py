"""Presets: how often a study repeats each cell and how long it looks. The one table of both."""

from typing import NamedTuple


class Preset(NamedTuple):
    """`blocks`: how many times every cell is run; `window_s`: how long each run counts."""

    blocks: int
    window_s: float


# Below, no 95 % interval for a median exists: with n = 5 the whole range covers it in
# 1 - 2/2^5 = 93.75 % of studies.
FEWEST_FOR_INTERVAL = 6

# 3 blocks show a shape and its scatter and no more; from 6 on there can be intervals; 20 make them
# narrow. A longer window hardly helps beyond some seconds: what differs between runs stays.
# What `smoke` costs is worked out in study/builtin/scale.toml: it has to be done in five minutes.
PRESETS = {
    "smoke": Preset(blocks=3, window_s=2.0),
    "default": Preset(blocks=8, window_s=5.0),
    "rigorous": Preset(blocks=20, window_s=5.0),
}

DEFAULT_PRESET = "default"
