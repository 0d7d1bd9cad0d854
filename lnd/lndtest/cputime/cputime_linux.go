// Package cputime measures how long tests and processes compute, however busy the machine is.
package cputime

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Of returns the CPU time that f takes in the calling goroutine. Time during which
// other threads had the CPU, those of this process too, does not count.
func Of(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := now()
	f()
	return now() - begin
}

// OfProcess returns the CPU time that a process has taken since its start.
func OfProcess(pid int) (time.Duration, error) {
	return read(int32(^pid<<3 | 2)) // CPUCLOCK_SCHED of the process, as clock_getcpuclockid(3) makes it
}

func now() time.Duration {
	t, err := read(unix.CLOCK_THREAD_CPUTIME_ID)
	if err != nil {
		panic(fmt.Sprint("cputime: ", err)) // every Linux has this clock, so the error is a bug
	}
	return t
}

func read(clock int32) (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(clock, &t)
	return time.Duration(t.Nano()), err
}
