package machine

import (
	"syscall"
	"time"
	"unsafe"
)

const clockBoottime = 7 // CLOCK_BOOTTIME of linux/time.h, which package syscall lacks

// BootClock returns a clock that begins at zero and, unlike [RealClock], goes on while the
// system is suspended, so that a machine sees the gap. Its timers stop during a suspension:
// after it, a timer still waits for the time that it had left. Systems other than Linux get
// a RealClock, which is also the clock for testing/synctest.
func BootClock() Clock {
	if sinceBoot() == 0 {
		return RealClock() // the system refuses CLOCK_BOOTTIME, as some sandboxes do
	}
	return &bootClock{start: sinceBoot()}
}

type bootClock struct{ start time.Duration }

func (c *bootClock) Now() time.Duration { return sinceBoot() - c.start }

func (c *bootClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

func sinceBoot() time.Duration {
	var ts syscall.Timespec // stays zero if the system refuses the call
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano())
}
