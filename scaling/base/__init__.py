"""The common base of all packages: errors, number formats, printing, whole-file writes."""
