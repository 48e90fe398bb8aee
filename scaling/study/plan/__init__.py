"""Which runs a study has, in what order, at what cost, and what cannot be run and why."""
