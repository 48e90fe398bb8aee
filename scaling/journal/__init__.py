"""The append-only file of everything that was run, and the shapes of what it holds."""
