"""The gate: whether a study proves that scaling has become too bad, for CI to fail on."""
