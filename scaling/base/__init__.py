"""What all packages need: errors, number formats, printing, whole-file writes."""
