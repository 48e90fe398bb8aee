"""The checks of `scaling doctor`, one file per topic; `scaling.machine.doctor` lists them."""
