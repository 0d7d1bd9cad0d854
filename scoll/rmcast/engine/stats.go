package engine

// Stats counts what a [Machine] did and met.
type Stats struct {
	Sent       uint64 // messages of this node
	Released   uint64 // of those, what all have
	Delivered  uint64 // messages to the user, own ones included
	Datagrams  uint64 // of this node, each once
	Heartbeats uint64
	Acks       uint64 // control messages with acknowledgements
	Repairs    uint64 // payloads that were sent again
	Fetches    uint64 // entries that asked for payload
	Polls      uint64
	Duplicates uint64 // datagrams that were there already
	Repaired   uint64 // datagrams that came as repairs
	Needless   uint64 // of those here and below, what came by multicast as well, as far as is known
	Takeovers  uint64 // children of failed ones that became ours
	LeftOut    uint64 // messages that were stable without us: we were expelled

	// What was dropped, by reason.
	Malformed    uint64 // not understood
	OtherGroup   uint64
	Stranger     uint64 // from, or of, nobody in that version
	Forged       uint64 // a datagram of somebody else's
	NotMember    uint64 // of a version without this node (RM-A10)
	OldVersion   uint64 // of a version that its origin has left
	Unknown      uint64 // of an unknown version, and too many were held
	Held         uint64 // of an unknown version, kept until its list comes (RM-A9)
	Departed     uint64 // from or of failed members
	Window       uint64 // beyond the window
	Inconsistent uint64 // fragments that contradict others, or the version
	Stray        uint64 // acknowledgements from members that are not our children
	Future       uint64 // acknowledgements of what was never sent
	Repeated     uint64 // requests for what was just sent again
	Discarded    uint64 // on purpose (RM-24)
	Refused      uint64 // messages of managers with a lower epoch, or another manager of this epoch
	Ahead        uint64 // with epochs far above the wall clock
	Denied       uint64 // messages of ours that managers refused, as far as they said so
	Healed       uint64 // ended because nobody with the epoch was heard, but a manager with a lower one
	Returned     uint64 // orders of a manager that a later one, which this member had promised to obey, did not replace
	Canvassed    uint64 // questions of managers that would take over
	Unproven     uint64 // by multicast, about what is released: the origin is asked
	NoMemory     uint64 // datagrams for which an open group keeps no memory
}
