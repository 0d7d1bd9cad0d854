package dissection

import (
	"ulnet/cmd/internal/config"
	gossipwire "ulnet/gossip/wire"
	zonewire "ulnet/gossip/zone/wire"
	healthwire "ulnet/health/wire"
	"ulnet/lnd/capture"
	"ulnet/lnet/wire"
	"ulnet/scoll"
)

// dissectors are the dissectors of those protocols whose messages can be understood without
// earlier messages.
var dissectors = capture.Portals{
	gossipwire.Portal:       {Protocol: "gossip", Read: readGossip},
	healthwire.ServerPortal: {Protocol: "health", Read: readHealth},
	healthwire.ClientPortal: {Protocol: "health", Read: readHealth},
}

// Shown is a record with its payload, parsed by the dissector of the portal.
type Shown struct {
	*capture.Record
	said capture.Payload // the parsed payload; the zero value if there is no dissector for the portal
}

// message returns the record itself if it is an LNet message, or the message whose RDMA transfer
// the record completes, or nil.
func (r *Shown) message() *Shown {
	if r.Kind == capture.Message {
		return r
	}
	if m, ok := r.Moved(); ok {
		return &Shown{m, r.said}
	}
	return nil
}

// Protocols are the dissectors of the payloads of one capture, or of one other source of
// packets.
type Protocols struct {
	collectives *collectives
	selftests   *selftests
	zones       capture.Portals
}

// NewProtocols returns the dissectors of one source. The argument members is the list of members
// for groups whose lists are not in the source; nil: these lists are unknown.
func NewProtocols(members *scoll.Membership) *Protocols {
	return &Protocols{newCollectives(members), newSelftests(), capture.Portals{zonewire.Portal: {Protocol: "zone", Read: newZones().read}}}
}

// Read parses the payload of a record, whose bytes it refers to. Records must come in the order of the
// capture. A payload that is transferred by RDMA is parsed with the
// record that completes the transfer.
func (p *Protocols) Read(r *capture.Record) Shown {
	if m, ok := r.Moved(); ok {
		return Shown{r, p.Read(m).said}
	}
	if r.ByRDMA() && r.Header.Type != wire.Get {
		return Shown{Record: r}
	}
	if said, ok := dissectors.Read(r); ok {
		return Shown{r, said}
	}
	if said, ok := rmcastPortals.Read(r); ok {
		return Shown{r, said}
	}
	if said, ok := p.zones.Read(r); ok {
		return Shown{r, said}
	}
	if said, ok := p.selftests.read(r); ok {
		return Shown{r, said}
	}
	said, _ := p.collectives.read(r)
	return Shown{r, said}
}

// ParseMembers returns a list of NIDs as the list of a group, in its order; nil for the empty text.
func ParseMembers(list string) (*scoll.Membership, error) {
	if list == "" {
		return nil, nil
	}
	ids, err := config.ParseNIDList(list)
	if err != nil {
		return nil, err
	}
	targets := make([]scoll.Target, len(ids))
	for i, id := range ids {
		targets[i] = scoll.Target{NID: id, Entities: []scoll.Entity{{}}} // one entity each, because only the number of nodes matters here
	}
	return scoll.NewMembership(targets)
}

// bounded is a map that forgets its oldest entries.
type bounded[K comparable, V any] struct {
	most  int
	known map[K]V
	ring  []K
	next  int
}

func newBounded[K comparable, V any](most int) *bounded[K, V] {
	return &bounded[K, V]{most: most, known: map[K]V{}}
}

func (b *bounded[K, V]) get(k K) (V, bool) {
	v, ok := b.known[k]
	return v, ok
}

func (b *bounded[K, V]) put(k K, v V) {
	if _, ok := b.known[k]; !ok {
		if len(b.ring) < b.most {
			b.ring = append(b.ring, k)
		} else {
			delete(b.known, b.ring[b.next])
			b.ring[b.next] = k
			b.next = (b.next + 1) % b.most
		}
	}
	b.known[k] = v
}
