"""What a check-up looks at, a file for each kind; `scaling.machine.doctor` has the table of all."""
