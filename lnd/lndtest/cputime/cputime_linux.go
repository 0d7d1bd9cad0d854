// Package cputime measures how long a test computes, however busy the machine is.
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

func now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(fmt.Sprint("cputime: ", err)) // every Linux has this clock, so the error is a bug
	}
	return time.Duration(t.Nano())
}
