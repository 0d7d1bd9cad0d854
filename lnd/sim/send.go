package sim

import (
	"math"

	"ulnet/lnd/link"
)

// send gives a message to the network at an instant, which lies after the present time if the
// sender's CPU works until then.
func (n *Network[M]) send(from NodeID, s *Send[M], at int64) {
	size := min(max(s.Size, 0), math.MaxInt32)
	if s.Copy {
		n.stats.Copies++
	} else {
		n.stats.Sent++
		n.stats.SentBytes += uint64(size)
	}
	switch {
	case s.Copy:
		at = max(at, n.departed)
	case n.access != nil:
		at = n.access[from].out.take(at, n.access[from].rate, size, s.Priority)
	}
	n.departed = at
	if s.To < 0 || int(s.To) >= len(n.nodes) {
		n.stats.NoNode++
		return
	}
	if n.cuts.Some() && n.cuts.Apart(from, s.To) {
		n.stats.Cut++
		return
	}
	at = n.leaves(from, s.To, at)
	q, hops := n.flat, int8(0)
	if q == nil {
		route := n.topology.Route(from, s.To)
		q, hops = route.Link, route.N
	}
	outcome := n.quality(from, s.To, q).Draw(n.rng)
	n.count(&outcome)
	for c := range outcome.Copies {
		i, f := n.flights.take()
		f.msg, f.from, f.to, f.size, f.kind = s.Msg, from, s.To, int32(size), Message
		f.incarnation, f.delay = n.nodes[from].incarnation, int64(outcome.Delays[c])
		if s.Priority {
			f.flags |= flightPriority
		}
		if c > 0 {
			f.flags |= flightCopy
		}
		n.onward(i, f, at, hops)
	}
}

func (n *Network[M]) count(f *link.Outcome) {
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

// onward sends flight i on at the instant at. The route of the flight has hops links that are
// shared. onward sends the flight to the next of these links; after the last one, to the receiver's
// access link, or to the receiver itself if that link has no limit.
func (n *Network[M]) onward(i int32, f *flight[M], at int64, hops int8) {
	kind := evHop
	if f.hop >= hops {
		at = later(at, f.delay)
		f.delay = 0
		if n.access == nil || n.access[f.to].rate == 0 {
			kind = evArrive
		}
	}
	n.queue.push(newEvent(at, kind, f.to, i))
}

// hop handles flight i at the entrance of a link.
func (n *Network[M]) hop(i int32) {
	f := n.flights.at(i)
	route := n.topology.Route(f.from, f.to)
	priority := f.flags&flightPriority != 0
	if f.hop < route.N {
		k := route.Hops[f.hop]
		f.hop++
		n.onward(i, f, n.links[k].take(n.now, n.topology.Rates()[k], int(f.size), priority), route.N)
		return
	}
	a := &n.access[f.to]
	at := a.in.take(n.now, a.rate, int(f.size), priority)
	n.queue.push(newEvent(at, evArrive, f.to, i))
}

// occupancy has the times at which a link will have transmitted all that it was given so far.
type occupancy struct {
	all    int64 // when the link is free of all messages, in ns
	urgent int64 // when the link is free of priority messages, in ns
}

// lastInstant bounds the times that add up on slow links, to some 146 years.
const lastInstant = math.MaxInt64 / 2

// take gives the link a message and returns the time at which its last byte leaves. A priority
// message waits for earlier priority messages only. A bulk message that it overtakes keeps the time
// that take has returned for it; its transmission defers only bulk messages that are given to the
// link later.
func (o *occupancy) take(now, rate int64, size int, priority bool) int64 {
	t := min(int64(link.Transmission(rate, size)), lastInstant)
	o.all = min(max(o.all, now)+t, lastInstant)
	if !priority {
		return o.all
	}
	o.urgent = min(max(o.urgent, now)+t, lastInstant)
	return o.urgent
}

// accessLink is the link between a node and the network.
type accessLink struct {
	rate    int64
	in, out occupancy
}

// latency draws the time that a message of no size takes from one node to another.
func (n *Network[M]) latency(from, to NodeID) int64 {
	q := n.quality(from, to, n.topology.Route(from, to).Link)
	return int64(q.Latency.Draw(n.rng))
}

// quality returns the present quality of the path from one node to another, whose quality without
// changes is base.
func (n *Network[M]) quality(from, to NodeID, base *link.Quality) *link.Quality {
	if len(n.rules) == 0 {
		return base
	}
	return n.changed(from, to, base)
}
