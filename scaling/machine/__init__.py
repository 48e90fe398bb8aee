"""The machine: its topology, its limits, and how it is described."""
