package main

import (
	"ulnet/gossip"
	"ulnet/lnd/capture"
)

// dissectors are for the users of portals whose messages stand for themselves.
var dissectors = capture.Portals{
	gossip.Portal: {Protocol: "gossip", Read: readGossip},
}

// shown is a record and what it says to the user of LNet that it is for.
type shown struct {
	*capture.Record
	said capture.Payload // the zero value: we know no such user
}

// protocols understand what users of LNet say in the messages of one source.
type protocols struct{ collectives *collectives }

func newProtocols() *protocols { return &protocols{newCollectives()} }

func (p *protocols) read(r *capture.Record) shown {
	if said, ok := dissectors.Read(r); ok {
		return shown{r, said}
	}
	said, _ := p.collectives.read(r)
	return shown{r, said}
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
