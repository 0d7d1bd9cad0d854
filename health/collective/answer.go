package collective

import (
	"encoding/binary"
	"errors"

	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// Answer is the merged answer of a server and all servers below it in the tree, little-endian:
//
//	0  4  absent   number of servers that take part but did not answer
//	4     absent   their NIDs, 20 bytes each, in the extended form
//	      reply    of all others, a [wire.Reply]
type Answer struct {
	Absent []nid.NID  // servers that take part but did not answer
	Reply  wire.Reply // merged answer of the servers that did answer
}

// headerSize is the size of an Answer without NIDs and reply.
const headerSize = 4

// errAnswer means that an answer does not parse or does not fit the request.
var errAnswer = errors.New("collective: an answer to an eviction makes no sense")

// longest returns the size in bytes of the longest answer for a number of evictions and a
// number of servers.
func longest(entries, servers int) int {
	return headerSize + servers*nid.ExtendedSize + wire.ReplyHeaderSize + entries*wire.ExceptionSize
}

// AppendTo appends the answer.
func (a *Answer) AppendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(a.Absent)))
	for _, id := range a.Absent {
		b = id.AppendExtended(b)
	}
	return a.Reply.AppendTo(b)
}

// ParseAnswer parses an answer to a request with the given number of evictions, of at most the
// given number of servers. The error is errAnswer or one of [wire.ParseReply].
func ParseAnswer(b []byte, entries, servers int) (a Answer, err error) {
	if len(b) < headerSize {
		return a, errAnswer
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if b = b[headerSize:]; n > int64(servers) || int64(len(b)) < n*nid.ExtendedSize {
		return a, errAnswer
	}
	for range n {
		id, rest, err := nid.ParseExtended(b)
		if err != nil {
			return a, errAnswer
		}
		a.Absent, b = append(a.Absent, id), rest
	}
	if a.Reply, err = wire.ParseReply(b); err != nil {
		return a, err
	}
	if x := a.Reply.Exceptions; len(x) > 0 && int(x[len(x)-1].Index) >= entries {
		return a, errAnswer
	}
	return a, nil
}
