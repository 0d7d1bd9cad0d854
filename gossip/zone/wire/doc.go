// Package wire is the format of the messages of zones, for the machine (gossip/zone/engine),
// simulators and tools that look at captures. It does no I/O.
//
// Messages are single PUTs to [Portal] with match bits [Bits], little-endian. There are two
// sorts: a [Message] goes between nodes of a zone, and a [Dispatch] between a zone and the
// management zone above it. The layout of a Message is documented at Codec.appendHeader, that
// of a Dispatch at its type. [Codec.AppendParts] divides lists that do not fit one message into
// several messages, each complete by itself.
//
// A message of a zone names most nodes by the first eight bytes of the SHA-1 digest of their
// ids, because a receiver knows the ids already. A parsed message names nodes by small numbers,
// see [Ref]; the caller keeps the ids of these and implements [Names]. Observers, which know no
// ids, call [ParseMessage] and [ParseDispatch].
package wire
