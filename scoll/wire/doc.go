// Package wire is the wire format of server collectives: what nodes send each other, for
// the machine of package engine and for those who look on, such as lnetdump. It does no
// I/O and knows no rules.
//
// Messages are single PUTs, little-endian. A [RequestHeader], an [Identity], a [Progress]
// or a [Hold] goes to portal [RequestPortal], told apart by what [MagicOf] returns; a
// [ReplyHeader] to portal [ReplyPortal], under the match bits of its request. Lists of
// members and bulk data are fetched by GETs from portal [BulkPortal].
package wire

// The portals of collectives. Requests wait where there is no buffer; replies
// and fetches go to what was posted for them, or nowhere.
const (
	RequestPortal = 54
	ReplyPortal   = 55
	BulkPortal    = 56
)
