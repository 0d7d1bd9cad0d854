package zone

import (
	"log/slog"
	"slices"

	"ulnet/gossip/zone/engine"
	"ulnet/gossip/zone/wire"
)

// queueWeight is how many events, with their attributes, may wait for a slow user before events
// that no longer matter are dropped.
const queueWeight = 1 << 16

// weight returns what an event adds to the weight of a queue.
func weight(e *Event) int { return 1 + len(e.Attributes) + len(e.Keys) + len(e.Members) }

// Watch calls f for each event: a node joined, a node left, or attributes of another node
// changed. For each incarnation of a node, Joined and Left alternate. Watch begins with a
// Joined event for each current member; there are no events about this node itself. If f is
// slow, waiting events are merged: a node that has joined and left again has no event,
// attributes have their value at the time of the call, and events about this node's own
// observations are dropped. So the size of the zone bounds the queue. The slices in an event, and the values of
// attributes, belong to the agent, which shows them to other functions and sends them to other nodes: f must not change them.
// f may block, and may call the agent. No call of f begins after a call of stop, but an earlier one may still run then. When
// [Agent.Close] has returned without an error, no call of f runs.
func (a *Agent) Watch(f func(Event)) (stop func()) {
	q := &queue{most: queueWeight}
	return a.watchers.Add(func(e told) { f(e.Event) }, q, func(tell func(told)) {
		a.runner.Inspect(func() {
			q.since = a.stepper.Steps()
			a.present(func(e Event) { tell(told{e, q.since + 1}) })
		})
	})
}

// present calls tell with a Joined event for each present member. The caller holds the runner.
func (a *Agent) present(tell func(Event)) {
	if !a.m.Joined() {
		return
	}
	a.m.Each(func(p wire.Ref, v Version) {
		if p == a.m.Self() {
			return
		}
		id := a.m.Table().ID(p)
		v = a.m.LastAnnounced(p, v) // the version with which Left will report the node
		tell(Event{Kind: Joined, ID: id, Version: v})
		if list, _ := a.m.Attributes(p); len(list) > 0 {
			e := Event{Kind: AttributesChanged, ID: id, Version: v, Attributes: list}
			for i := range list {
				e.Keys = append(e.Keys, list[i].Key)
			}
			tell(e)
		}
	})
}

// told is an event of a step of the machine, which is counted from 1.
type told struct {
	Event
	step uint64
}

// queue has the events that are still to be reported to a user.
type queue struct {
	since  uint64 // number of the last step before Watch; the first events, one for each present member, include all changes up to it
	events []Event
	weight int // sum of the weights of the events
	most   int // weight above which the queue is shortened
}

// Push adds an event (watch.Queue).
func (q *queue) Push(e told) {
	if e.step <= q.since {
		return
	}
	q.events = append(q.events, e.Event)
	if q.weight += weight(&e.Event); q.weight >= q.most {
		q.events, q.weight = shorten(q.events), 0
		for i := range q.events {
			q.weight += weight(&q.events[i])
		}
		q.most = max(queueWeight, 2*q.weight)
	}
}

// Pop removes the first event (watch.Queue).
func (q *queue) Pop() told {
	e := q.events[0]
	q.weight -= weight(&e)
	q.events[0] = Event{}
	if q.events = q.events[1:]; len(q.events) == 0 {
		q.events = nil
	}
	return told{Event: e}
}

// Len returns the number of events (watch.Queue).
func (q *queue) Len() int { return len(q.events) }

// shorten drops three kinds of events: those of nodes that joined and left again, all changes
// of a node's attributes but the latest, and this node's own observations.
func shorten(queue []Event) []Event {
	type pending struct {
		joined  int // index of the Joined event, from 1
		changes []int
	}
	of := make(map[ID]pending)
	gone := make([]bool, len(queue))
	for i := range queue {
		e := &queue[i]
		p := of[e.ID]
		switch e.Kind {
		case Joined:
			p.joined = i + 1
		case Left:
			if p.joined > 0 {
				gone[p.joined-1], gone[i] = true, true
			}
			p = pending{}
		case AttributesChanged:
			p.changes, gone[i] = append(p.changes, i), true
		default:
			gone[i] = true
		}
		of[e.ID] = p
	}
	for _, p := range of { // any order: the nodes are independent
		if n := len(p.changes); n > 0 {
			last := p.changes[n-1]
			queue[last].Keys, gone[last] = unite(queue, p.changes), false
		}
	}
	kept := make([]Event, 0, len(queue))
	for i := range queue {
		if !gone[i] {
			kept = append(kept, queue[i])
		}
	}
	return kept
}

// maxUnited bounds the number of keys of merged events.
const maxUnited = 1 << 12

// unite returns the keys of several events, each key at its last position. If there are very
// many keys it returns the latest ones: a node that deletes each attribute that it writes would
// otherwise make the list grow without bound.
func unite(queue []Event, events []int) (keys []string) {
	seen := make(map[string]bool)
	for _, at := range slices.Backward(events) {
		for _, k := range slices.Backward(queue[at].Keys) {
			if len(keys) == maxUnited {
				break
			}
			if !seen[k] {
				seen[k] = true
				keys = append(keys, k)
			}
		}
	}
	slices.Reverse(keys)
	return keys
}

// happened passes an event to the watchers.
func (a *Agent) happened(e *Event, step uint64) {
	switch e.Kind {
	case Joined, Left:
		a.logMember(e)
	case Clash:
		a.log.Error("another node has the name of one of the zone", slog.String("node", e.ID.String()))
	case FarAhead:
		a.log.Warn("a node claims an incarnation far ahead of this node's clock, or somebody in its name: compare the clocks of both; see docs/membership.md",
			slog.String("node", e.ID.String()), slog.Any("version", e.Version))
	case Contested:
		a.log.Error("two active delegates speak for one zone: give one of two zones another name, or mend the network in between",
			slog.String("zone", e.Zone), slog.String("counts", e.Members[0].ID.String()), slog.String("other", e.Members[1].ID.String()))
	case SupervisorLost:
		a.log.Warn("a supervisor does not answer this delegate: see 'gossipctl zone status'",
			slog.String("zone", e.Zone), slog.String("supervisor", e.Suspect.ID.String()), slog.String("why", e.Trouble.String()))
	case SupervisorFound:
		a.log.Info("a supervisor answers again", slog.String("zone", e.Zone), slog.String("supervisor", e.Suspect.ID.String()))
	case ZoneRefused:
		a.log.Warn("this supervisor has no room in the census for a zone: more supervisors are needed",
			slog.String("zone", e.Zone), slog.Int("zones", e.Size))
	case engine.Listed:
		a.queries.listed(e)
		return
	}
	a.watchers.Tell(told{*e, step})
}
