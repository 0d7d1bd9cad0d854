package timerfd

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// alarm is a timer of the system. Setting it and waiting for it allocates nothing.
type alarm struct {
	file  *os.File
	rc    syscall.RawConn
	spec  unix.ItimerSpec
	apply func(fd uintptr) // sets the timer to spec
	rings [8]byte          // how often it rang
}

// newAlarm returns nil if the system has none to give.
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
	// Fails only when it is closed.
	a.apply = func(fd uintptr) { _ = unix.TimerfdSettime(int(fd), 0, &a.spec, nil) }
	return a
}

// set has it ring once, d from now, and not when it would have before. The
// caller sees to it that there is one call at a time.
func (a *alarm) set(d time.Duration) {
	a.spec.Value = unix.NsecToTimespec(d.Nanoseconds())
	_ = a.rc.Control(a.apply)
}

// wait waits until it rings; false: it is closed. One goroutine waits.
func (a *alarm) wait() bool {
	_, err := a.file.Read(a.rings[:])
	return err == nil
}

func (a *alarm) close() { _ = a.file.Close() }
