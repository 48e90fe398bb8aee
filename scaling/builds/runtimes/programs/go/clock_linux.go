package main

import (
	"syscall"
	"unsafe"
)

const clockMonotonic = 1

// now is CLOCK_MONOTONIC in ns, the clock of the driver, whose memory readings it is compared with.
func now() int64 {
	var at syscall.Timespec
	syscall.RawSyscall(
		syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&at)), 0)
	return at.Nano()
}
