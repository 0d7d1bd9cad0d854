package ibv

import (
	"time"

	"ulnet/lnet/machine"
)

// stillClock never moves.
type stillClock struct{}

func (stillClock) Now() time.Duration                            { return 0 }
func (stillClock) AfterFunc(time.Duration, func()) machine.Timer { return stillTimer{} }

type stillTimer struct{}

func (stillTimer) Stop() bool { return true }
