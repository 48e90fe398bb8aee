"""Applications as people write them, each with one fault on N loops: `scaling/several-loops.md`."""
