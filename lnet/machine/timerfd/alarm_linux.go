package timerfd

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// alarm is a timerfd. Setting it and waiting for it do not allocate.
type alarm struct {
	file  *os.File
	rc    syscall.RawConn
	spec  unix.ItimerSpec
	apply func(fd uintptr) // sets the timer of the system to spec
	rings [8]byte          // memory for what a read of the timerfd returns, the number of expirations; it is not used
}

// newAlarm returns nil if the system provides no timerfd.
func newAlarm() *alarm {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil
	}
	a := &alarm{file: os.NewFile(uintptr(fd), "timerfd")}
	if a.rc, err = a.file.SyscallConn(); err != nil {
		_ = a.file.Close()
		return nil
	}
	// The call fails only if the alarm is closed; then no goroutine waits for it any more.
	a.apply = func(fd uintptr) { _ = unix.TimerfdSettime(int(fd), 0, &a.spec, nil) }
	return a
}

// set makes the alarm expire once, d from now, instead of at the time set before. Callers must
// serialize their calls.
func (a *alarm) set(d time.Duration) {
	a.spec.Value = unix.NsecToTimespec(d.Nanoseconds())
	_ = a.rc.Control(a.apply)
}

// wait waits until the alarm expires; it returns false if the alarm is closed. Only one
// goroutine may wait.
func (a *alarm) wait() bool {
	_, err := a.file.Read(a.rings[:])
	return err == nil
}

func (a *alarm) close() { _ = a.file.Close() }
