package loan

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// timer ticks while it is started. It is a timer of the
// system: one of the runtime would give every wait of its poller a time-out,
// and each of those costs as much as a third of a small message's way.
type timer struct {
	file *os.File
	rc   syscall.RawConn
}

// newTimer returns nil if the system has no timer to give.
func newTimer() *timer {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), "timerfd")
	rc, err := f.SyscallConn()
	if err != nil {
		_ = f.Close()
		return nil
	}
	return &timer{file: f, rc: rc}
}

func (t *timer) start(period time.Duration) { t.set(period) }
func (t *timer) stop()                      { t.set(0) }

func (t *timer) set(period time.Duration) {
	spec := unix.ItimerSpec{
		Value:    unix.NsecToTimespec(period.Nanoseconds()),
		Interval: unix.NsecToTimespec(period.Nanoseconds()),
	}
	// Fails only when the timer has been closed.
	_ = t.rc.Control(func(fd uintptr) { _ = unix.TimerfdSettime(int(fd), 0, &spec, nil) })
}

// wait waits for the next tick; false: the timer is closed.
func (t *timer) wait() bool {
	var ticks [8]byte
	_, err := t.file.Read(ticks[:])
	return err == nil
}

func (t *timer) close() { _ = t.file.Close() }
