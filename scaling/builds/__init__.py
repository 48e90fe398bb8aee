"""Arms that are compared, and the interpreters, environments and runtimes that they run on."""
