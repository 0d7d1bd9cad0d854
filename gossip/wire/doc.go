// Package wire is the wire format of gossip: the messages that participants send each other.
// The machine of package engine and observers such as lnetdump use it. It does no I/O and has
// no rules of the protocol.
//
// Messages are single PUTs to portal [Portal], little-endian; match bits distinguish pings from
// replies. Each begins with a [Header].
package wire

// Portal is the portal for gossip.
const Portal = 53

// Match bits tell pings from replies (GO-52, GO-53).
const (
	PingBits  = 0x676F7373_00000001
	ReplyBits = 0x676F7373_00000002
)

// Ages are bytes, in cycles. A known age saturates at Oldest; Unheard says that the sender
// knows none.
const (
	Oldest  = 254
	Unheard = 255
)
