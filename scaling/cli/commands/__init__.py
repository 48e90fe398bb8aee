"""One file per command, with a function of the same name: that is what `scaling` offers."""
