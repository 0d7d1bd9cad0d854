package engine

import (
	"errors"
	"time"

	"ulnet/gossip/zone/wire"
)

// Stats counts what a machine did.
type Stats struct {
	Sent     [wire.Kinds]uint64 // messages sent, by kind
	Received [wire.Kinds]uint64 // messages received, by kind

	Dispatched [wire.DispatchKinds]uint64 // messages sent to other zones, by kind

	// Messages that were not accepted as valid.
	Malformed, OtherVersion, OtherZone, NotSigned, BadID, TableFull, Collisions uint64
	// Parts of valid messages that were ignored.
	UnknownSender   uint64 // messages of a sender about which nothing is known
	OtherNID        uint64 // messages about a link, or to other zones, that do not come from a NID of the node that they name as their sender
	Stale           uint64 // reports that were older than what this node knew
	TooFarAhead     uint64 // versions so high that their owner could not refute them (MS-A2)
	BadReporter     uint64 // suspicions whose reporter is outside the view, or is itself the suspect (MS-A29)
	TooManyReports  uint64 // suspicions refused because there are very many and their reporter has filed too many of them
	Refuted         uint64 // suspicions of this node that it had refuted already
	StaleData       uint64 // attributes of another incarnation of their owner
	TooLarge        uint64 // tables that are larger than allowed
	TooManyKeys     uint64 // tables with more keys than allowed
	RepeatedKeys    uint64 // parts of tables that name a key twice
	RepeatedAsks    uint64 // requests for a table that the same message asks for already
	NotWritten      uint64 // own attributes that were refused: see Machine.Fits
	Gaps            uint64 // parts of tables whose previous part is missing
	WaitingFull     uint64 // offers dropped because the list of offers that wait for an unknown owner is full
	ViewFull        uint64 // nodes for which the view has no room
	StrayDispatches uint64 // messages of other zones that are not meant for this node
	TooManyZones    uint64 // base zones or delegates for which there is no room, and zones whose NID has brought too many names: see origins
	BadJoins        uint64 // joins without a higher incarnation

	Filed            uint64        // suspicions that this node filed
	Withheld         uint64        // suspicions that this node did not file, because the last one of the same node was refuted shortly before
	Muted            uint64        // times that so many links failed that this node suspected itself to be at fault
	Excused          uint64        // failures that were excused because this node was paused
	OtherIncarnation uint64        `json:"OtherLife"` // failures that did not count because the peer had restarted
	LocalErrors      uint64        // sends that failed for reasons of this host alone
	Repairs          uint64        // exchanges of whole views after the first
	TableRepairs     uint64        // exchanges of all attributes, because the tables' hashes stayed different
	Unanswered       uint64        // requests for attributes that were not answered in time
	Entries          uint64        // entries of attribute tables that were received
	Forgotten        uint64        // nodes that were dropped from the history
	Collected        uint64        // times that unused ids were removed from the table
	SupervisorsLost  uint64        // supervisors that did not answer this delegate
	Contested        uint64        // times that this supervisor saw two active delegates of a zone, or this delegate was told so
	Clashes          uint64        // times that another node claimed this node's id, or joined with the name of a member
	Late             uint64        // messages processed long after their arrival
	Pauses           uint64        // pauses of this node
	Missed           time.Duration // length of all pauses together
}

// Refusals returns how many messages were not understood.
func (s *Stats) Refusals() uint64 {
	return s.Malformed + s.OtherVersion + s.OtherZone + s.NotSigned + s.BadID + s.TableFull + s.Collisions
}

// refuse counts a message by the error for which it was refused.
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
