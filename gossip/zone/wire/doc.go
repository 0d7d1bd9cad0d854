// Package wire is the format of the messages of zones, for the machine (gossip/zone/engine),
// simulators and tools that look at captures. It does no I/O.
//
// Messages are single PUTs to [Portal] with match bits [Bits], little-endian. There are two
// sorts: a [Message] goes between nodes of a zone, a [Dispatch] between a zone and the
// management zone above it. Codec.appendHeader documents the layout of a Message, Dispatch its
// own. [Codec.AppendParts] divides lists that do not fit one message into several messages,
// each complete by itself.
//
// A message of a zone names most nodes by the first eight bytes of the SHA-1 digest of their
// ids, which a receiver knows already. Nodes are small numbers in a parsed message, see [Ref]:
// the caller keeps their ids and implements [Names]. Observers, which know no ids, call
// [ParseMessage] and [ParseDispatch].
package wire
