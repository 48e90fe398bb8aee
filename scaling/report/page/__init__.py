"""A study on one HTML page: the answer first, then every figure behind it."""
