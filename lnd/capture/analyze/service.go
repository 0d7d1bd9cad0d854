package analyze

import (
	"fmt"
	"slices"

	"ulnet/lnet/wire"
)

// Service says which PUTs are requests of a protocol above LNet, and which are replies. Both
// functions must accept any bytes, and see as much of the payload as the Dissector keeps.
type Service struct {
	Name string // name of the protocol in reports
	// Request returns the number by which the reply to a request is found, or false if a PUT is no
	// request. A requester uses a number once.
	Request func(put wire.PutCmd, payload []byte) (number uint64, ok bool)
	// Reply returns the number of the request that a reply belongs to, or false if a PUT is no
	// reply.
	Reply func(put wire.PutCmd, payload []byte) (number uint64, ok bool)
}

// ByMatchBits returns a service in which a reply has the match bits of its request, as in Lustre's
// ptlrpc.
func ByMatchBits(name string, requests, replies []uint32) Service {
	on := func(portals []uint32) func(wire.PutCmd, []byte) (uint64, bool) {
		return func(put wire.PutCmd, _ []byte) (uint64, bool) {
			return put.MatchBits, slices.Contains(portals, put.Portal)
		}
	}
	return Service{Name: name, Request: on(requests), Reply: on(replies)}
}

// Portals of Lustre's ptlrpc (lustre_idl.h): of requests to its servers and from them, and of
// replies. Bulk data use others.
var (
	ptlrpcRequests = []uint32{1, 6, 7, 12, 15, 17, 22, 23, 24, 26, 28, 29, 30, 31, 32}
	ptlrpcReplies  = []uint32{2, 4, 10, 16, 18, 25, 27}
)

// Ptlrpc returns the requests and replies of Lustre's clients and servers.
func Ptlrpc() Service { return ByMatchBits("ptlrpc", ptlrpcRequests, ptlrpcReplies) }

// Bits are match bits. As text they are hexadecimal.
type Bits uint64

// String returns the bits as 0x10.
func (b Bits) String() string { return fmt.Sprintf("%#x", uint64(b)) }

// MarshalText returns String.
func (b Bits) MarshalText() ([]byte, error) { return []byte(b.String()), nil }
