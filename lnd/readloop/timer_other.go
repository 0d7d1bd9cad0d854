//go:build !linux

package readloop

import "time"

// timer does not exist here, so read loops are not handed over.
type timer struct{}

func newTimer() *timer { return nil }

func (*timer) start(time.Duration) {}
func (*timer) stop()               {}
func (*timer) wait() bool          { return false }
func (*timer) close()              {}
