package sim

import (
	"time"

	"ulnet/lnd/link"
)

// Control is the part of a [Network] that does not depend on the type of its messages.
type Control interface {
	Nodes() int
	Now() time.Duration
	Up(NodeID) bool
	Paused(NodeID) bool
	Digest() uint64
	Stats() Stats

	At(time.Duration, func())
	Run(until time.Duration) error
	RunEvents(limit int) (int, error)
	Stop(error)
	Observe(func(Step))

	Start(id NodeID, keep bool) bool
	Kill(NodeID)
	Crash(NodeID)
	Pause(NodeID)
	Resume(NodeID)
	SetSkew(id NodeID, ppm int64)
	SetSlow(id NodeID, extra time.Duration)
	Command(id NodeID, text string) bool

	Partition(...NodeSet)
	Cut(from, to NodeSet)
	Heal()
	Stall(from, to NodeSet, d time.Duration)
	SetLink(from, to NodeSet, change link.Change)
	ResetLinks()
	SetAccessRate(nodes NodeSet, rate int64)
}

var _ Control = (*Network[struct{}])(nil)
