"""What every package here needs and none is about: errors, number formats, whole-file writes."""
