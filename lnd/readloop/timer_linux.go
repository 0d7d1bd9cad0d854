package readloop

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// timer ticks while it is started. It is a timerfd: a pending timer of the Go runtime gives
// every wait of the netpoller a timeout, and each of those costs a third of the latency of
// a small message.
type timer struct {
	file *os.File
	rc   syscall.RawConn
}

// newTimer makes a timer; nil if the system refuses.
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
	// An error means only that the timer has been closed.
	_ = t.rc.Control(func(fd uintptr) { _ = unix.TimerfdSettime(int(fd), 0, &spec, nil) })
}

// wait blocks until the next tick, and returns false if the timer is closed.
func (t *timer) wait() bool {
	var ticks [8]byte
	_, err := t.file.Read(ticks[:])
	return err == nil
}

func (t *timer) close() { _ = t.file.Close() }
