package engine

import (
	"errors"
	"time"

	"ulnet/gossip/zone/wire"
)

// Stats counts what a machine did.
type Stats struct {
	Sent     [wire.Kinds]uint64 // messages by kind
	Received [wire.Kinds]uint64 // messages by kind

	Dispatched [wire.DispatchKinds]uint64 // sent to other zones

	// Messages that were not understood.
	Malformed, OtherVersion, OtherZone, NotSigned, BadID, TableFull, Collisions uint64
	// What was ignored of those that were.
	UnknownSender   uint64 // by a node of which nothing is known
	Stale           uint64 // older than what is known
	TooFarAhead     uint64 // versions so high that their owner could not refute them (MS-A2)
	BadReporter     uint64 // suspicions by a node outside the view, or on itself (MS-A29)
	TooManyReports  uint64 // suspicions by a node that suspects very many, when there are very many
	Refuted         uint64 // suspicions on this node that were refuted before
	StaleData       uint64 // attributes of another incarnation
	TooLarge        uint64 // tables that are larger than allowed
	TooManyKeys     uint64 // tables with more keys than allowed
	RepeatedKeys    uint64 // parts of tables that name a key twice
	RepeatedAsks    uint64 // requests for a table that the same message asks for already
	NotWritten      uint64 // own attributes that were refused: see Machine.Fits
	Gaps            uint64 // parts of tables of which the part before is missing
	WaitingFull     uint64 // offers of attributes of unknown nodes
	ViewFull        uint64 // nodes for which the view has no room
	StrayDispatches uint64 // messages of other zones that are not for this node
	TooManyZones    uint64 // base zones or delegates for which there is no room
	BadJoins        uint64 // without a higher incarnation

	Filed            uint64        // suspicions of this node's own
	Withheld         uint64        // that were not filed, since the last one of the same node was refuted shortly before
	Muted            uint64        // times that so many links failed that this node distrusted itself
	Excused          uint64        // failures that did not count after a pause
	OtherIncarnation uint64        `json:"OtherLife"` // failures that did not count because the peer had restarted
	LocalErrors      uint64        // sends that failed for reasons of this host alone
	Repairs          uint64        // views that were exchanged again
	TableRepairs     uint64        // exchanges of all attributes, because the tables' hashes stayed different
	Unanswered       uint64        // requests for attributes
	Entries          uint64        // of attributes that were received
	Forgotten        uint64        // nodes that are not in the history any more
	Collected        uint64        // times that the table was cleared of ids
	SupervisorsLost  uint64        // that did not answer this delegate
	Contested        uint64        // times that an active delegate of a base zone was told that another one counts, or told so
	Clashes          uint64        // times that another node said it was this one
	Late             uint64        // messages that waited for long to be processed
	Pauses           uint64        // times that this node did not run for a while
	Missed           time.Duration // in pauses
}

// Refusals returns how many messages were not understood.
func (s *Stats) Refusals() uint64 {
	return s.Malformed + s.OtherVersion + s.OtherZone + s.NotSigned + s.BadID + s.TableFull + s.Collisions
}

// refuse counts a message that was not understood.
func (s *Stats) refuse(err error) {
	for _, c := range []struct {
		err error
		n   *uint64
	}{
		{wire.ErrVersion, &s.OtherVersion},
		{wire.ErrZone, &s.OtherZone},
		{wire.ErrCode, &s.NotSigned},
		{wire.ErrName, &s.BadID},
		{wire.ErrEndpoints, &s.BadID},
		{wire.ErrID, &s.BadID},
		{errTableFull, &s.TableFull},
		{errCollision, &s.Collisions},
	} {
		if errors.Is(err, c.err) {
			*c.n++
			return
		}
	}
	s.Malformed++
}

// Stats returns the counters.
func (m *Machine) Stats() Stats { return m.stats }
