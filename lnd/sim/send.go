package sim

import (
	"ulnet/lnd/link"
)

// send sends a message at an instant, which may lie after now because the
// sender's CPU works until then.
func (n *Network[M]) send(from NodeID, s *Send[M], at int64) {
	n.stats.Sent++
	n.stats.SentBytes += uint64(s.Size)
	if s.To < 0 || int(s.To) >= len(n.nodes) {
		n.stats.NoNode++
		return
	}
	if n.access != nil {
		at = n.access[from].out.take(at, n.access[from].rate, s.Size, s.Priority)
	}
	if n.separated(from, s.To) {
		n.stats.Cut++
		return
	}
	route := n.topology.Route(from, s.To)
	q := n.quality(from, s.To, route.Link)
	fate := q.Draw(n.rng)
	n.count(&fate)
	for c := range fate.Copies {
		i := n.take()
		f := &n.flights[i]
		f.msg, f.from, f.to, f.size, f.kind = s.Msg, from, s.To, int32(s.Size), Message
		f.delay = int64(fate.Delays[c])
		if s.Priority {
			f.flags |= flightPriority
		}
		if c > 0 {
			f.flags |= flightCopy
		}
		n.onward(i, at, route.N)
	}
}

func (n *Network[M]) count(f *link.Fate) {
	switch {
	case f.Lost:
		n.stats.Lost++
	case f.Copies == 2:
		n.stats.Duplicated++
	}
	if f.Held {
		n.stats.Reordered++
	}
}

// onward sends flight i on at an instant: to the next shared link of its way,
// of which there are hops, over the last stretch, or to its receiver.
func (n *Network[M]) onward(i int32, at int64, hops int8) {
	f := &n.flights[i]
	kind := evHop
	if f.queue >= hops {
		at += f.delay
		f.delay = 0
		if n.access == nil || n.access[f.to].rate == 0 {
			kind = evArrive
		}
	}
	n.queue.push(event{at: at, node: int32(f.to), ref: i, kind: kind})
}

// hop handles flight i at the entrance of a link.
func (n *Network[M]) hop(i int32) {
	f := &n.flights[i]
	route := n.topology.Route(f.from, f.to)
	priority := f.flags&flightPriority != 0
	if f.queue < route.N {
		link := route.Hops[f.queue]
		f.queue++
		n.onward(i, n.links[link].take(n.now, n.topology.Rates()[link], int(f.size), priority), route.N)
		return
	}
	a := &n.access[f.to]
	at := a.in.take(n.now, a.rate, int(f.size), priority)
	n.queue.push(event{at: at, node: int32(f.to), ref: i, kind: evArrive})
}

// occupancy is until when a link transmits what it was given.
type occupancy struct {
	all    int64 // everything
	urgent int64 // priority messages
}

// take gives the link a message and returns when it is through. A priority
// message waits for earlier ones only; that the bulk behind it comes later by
// the time it takes is accounted for in bulk that is yet to come.
func (o *occupancy) take(now, rate int64, size int, priority bool) int64 {
	t := int64(link.Transmission(rate, size))
	o.all = max(o.all, now) + t
	if !priority {
		return o.all
	}
	o.urgent = max(o.urgent, now) + t
	return o.urgent
}

// accessLink is a node's own link.
type accessLink struct {
	rate    int64
	in, out occupancy
}

// latency draws how long something small takes from one node to another.
func (n *Network[M]) latency(from, to NodeID) int64 {
	q := n.quality(from, to, n.topology.Route(from, to).Link)
	return int64(q.Latency.Draw(n.rng))
}

// quality is what the path between two nodes is like at the moment.
func (n *Network[M]) quality(from, to NodeID, base *link.Quality) *link.Quality {
	if len(n.rules) == 0 {
		return base
	}
	return n.changed(from, to, base)
}
