package timerfd

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// alarm is a timer of the system.
type alarm struct {
	file *os.File
	rc   syscall.RawConn
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
	return a
}

// set has it ring once, d from now, and not when it would have before.
func (a *alarm) set(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(d.Nanoseconds())}
	// Fails only when it is closed.
	_ = a.rc.Control(func(fd uintptr) { _ = unix.TimerfdSettime(int(fd), 0, &spec, nil) })
}

// wait waits until it rings; false: it is closed.
func (a *alarm) wait() bool {
	var times [8]byte
	_, err := a.file.Read(times[:])
	return err == nil
}

func (a *alarm) close() { _ = a.file.Close() }
