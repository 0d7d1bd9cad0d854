package engine

// Stats counts what a [Machine] did and met.
type Stats struct {
	Sent       uint64 // number of this node's messages that were sent
	Released   uint64 // number of this node's messages that all members have
	Delivered  uint64 // messages delivered to the user, own ones included
	Datagrams  uint64 // datagrams of this node, without repetitions
	Packed     uint64 // number of this node's messages that shared a datagram with others when they were first sent
	Heartbeats uint64 // datagrams without payload
	Acks       uint64 // control messages with acknowledgements
	JoinedAcks uint64 // delayed acknowledgements that went with a control message or datagram that was sent anyway
	Repairs    uint64 // datagrams with payload that were sent again
	Fetches    uint64 // requests of this node for missing payload
	Polls      uint64 // polls sent to children that did not acknowledge
	Duplicates uint64 // datagrams that this node had already
	Repaired   uint64 // datagrams that arrived as repairs
	Needless   uint64 // repairs, here and below, of datagrams that then came by multicast, too
	Takeovers  uint64 // children of failed members that were adopted
	LeftOut    uint64 // messages that became stable without this member

	// Most of the counters below count dropped messages, by reason.
	Malformed    uint64 // messages that could not be parsed
	OtherGroup   uint64 // messages of another group
	OtherVersion uint64 // messages of another version of the protocol (RM-A23)
	Stranger     uint64 // messages from, or about, a node that is not on the list of their version
	Forged       uint64 // datagrams sent in the name of another member, or multicasts of what is never multicast
	NotMember    uint64 // messages of a version without this node (RM-A10)
	OldVersion   uint64 // messages of a version that their origin has left
	Unknown      uint64 // messages of an unknown version that were dropped, because too many were held
	Held         uint64 // messages of an unknown version that were held until its list came (RM-A9)
	Departed     uint64 // messages from, or about, failed members
	Window       uint64 // datagrams whose number is beyond the window
	Inconsistent uint64 // fragments that contradict others, or the version
	Stray        uint64 // acknowledgements from members that are not children
	Future       uint64 // acknowledgements of datagrams that were not sent
	Repeated     uint64 // requests for data that was resent just before
	Discarded    uint64 // messages discarded on purpose (RM-24)
	Refused      uint64 // orders of a lower epoch, or of another manager of this epoch
	Ahead        uint64 // messages with epochs far above the wall clock
	Denied       uint64 // messages of this node that managers refused
	Healed       uint64 // times this member left its epoch to join a manager of a lower one
	Returned     uint64 // times this member went back to the manager whose list it has, after a promise to a later one
	Canvassed    uint64 // pre-vote questions of managers
	Unproven     uint64 // multicast datagrams about which this member first asked the origin, see doubts
	NoMemory     uint64 // datagrams beyond the bound on memory of a group that any node may join
}
