//go:build !linux

package loan

import "time"

// timer does not exist here, and so there are no loans.
type timer struct{}

func newTimer() *timer { return nil }

func (*timer) start(time.Duration) {}
func (*timer) stop()               {}
func (*timer) wait() bool          { return false }
func (*timer) close()              {}
