// Package wire is the wire format of server collectives. The machine of package engine and
// observers such as lnetdump use it. It does no I/O, and implements no rules of the protocol
// beyond the consistency of single messages.
//
// Messages are single PUTs, little-endian. A [RequestHeader], an [Identity], a [Progress] or a
// [Hold] goes to portal [RequestPortal]; the result of [MagicOf] tells them apart. A
// [ReplyHeader] goes to portal [ReplyPortal], under the match bits of its request. Lists of
// members and bulk data are fetched by GETs from portal [BulkPortal].
package wire

// The portals of collectives. A request that arrives while no buffer is posted waits for one. A
// reply or a GET that matches no posted buffer is dropped.
const (
	RequestPortal = 54
	ReplyPortal   = 55
	BulkPortal    = 56
)
