//go:build !linux

package timerfd

import "time"

// alarm does not exist on this system.
type alarm struct{}

func newAlarm() *alarm { return nil }

func (*alarm) set(time.Duration) {}
func (*alarm) wait() bool        { return false }
func (*alarm) close()            {}
