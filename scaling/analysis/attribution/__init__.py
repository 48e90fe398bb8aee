"""Where the time of N workers goes, against one worker: terms, losses and factors of each cell."""
