"""The types of arrays that everything here computes with."""

import numpy as np
import numpy.typing as npt

type Floats = npt.NDArray[np.float64]
type Integers = npt.NDArray[np.int64]
type Flags = npt.NDArray[np.bool_]
