package health_test

import (
	"slices"
	"time"

	"ulnet/health"
	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// view is a health.View whose answers the test sets.
type view struct {
	c            *cluster
	alive        []bool
	incarnations []uint64
	f            func(nid.NID, bool, uint64)
	asked        func(nid.NID) // if set, Alive calls it after making its answer and before returning that
	askedQuorum  func()        // if set, Quorum calls it once, after counting the live servers and before returning
}

func (v *view) Alive(id nid.NID) (alive bool, deaths uint64) {
	i := slices.Index(v.c.ids, id)
	alive, deaths = v.alive[i], v.incarnations[i]
	if v.asked != nil {
		v.asked(id)
	}
	return alive, deaths
}

func (v *view) Counts() (alive, known int) {
	for _, up := range v.alive {
		if up {
			alive++
		}
	}
	return alive, servers
}

func (v *view) Quorum() bool {
	alive, known := v.Counts()
	if f := v.askedQuorum; f != nil {
		v.askedQuorum = nil
		f()
	}
	return alive*2 > known
}

func (v *view) Watch(f func(nid.NID, bool, uint64)) func() {
	v.f = f
	for i, id := range v.c.ids {
		f(id, v.alive[i], v.incarnations[i])
	}
	return func() { v.f = nil }
}

// broadcaster is a health.Broadcaster whose requests reach every live server after 5 ms.
type broadcaster struct {
	c *cluster
	i int
}

func (b broadcaster) Broadcast(request []byte, done func(health.Outcome)) {
	b.c.hosts[b.i].Clock().AfterFunc(5*time.Millisecond, func() {
		var o health.Outcome
		for k, id := range b.c.ids {
			switch answer := b.c.answers[k]; {
			case k == b.i:
			case !b.c.views[b.i].alive[k] || answer == nil:
				o.Missing = append(o.Missing, id)
			default:
				b.c.hosts[k].Do(func() {
					answer(b.c.ids[b.i], request, func(r []byte) { o.Reply = wire.MergeReplies(o.Reply, r) })
				})
			}
		}
		if o.Reply == nil {
			o.Reply = (&wire.Reply{}).AppendTo(nil)
		}
		done(o)
	})
}

func (b broadcaster) Serve(answer func(nid.NID, []byte, func([]byte))) { b.c.answers[b.i] = answer }

// store is a health.Store in memory. If the field broken is set, it is the error of every Load and
// Save.
type store struct {
	records    map[health.ClientID]health.Record
	tombstones map[health.ClientID]health.Tombstone
	broken     error
}

func (s *store) Load() (records []health.Record, tombstones []health.Tombstone, err error) {
	for _, r := range s.records {
		records = append(records, r)
	}
	for _, g := range s.tombstones {
		tombstones = append(tombstones, g)
	}
	slices.SortFunc(records, func(a, b health.Record) int { return a.Client.Compare(b.Client) })
	return records, tombstones, s.broken
}

func (s *store) Save(r health.Record, done func(error)) {
	if s.broken == nil {
		s.records[r.Client] = r
	}
	done(s.broken)
}

func (s *store) Remove(t health.Tombstone, done func(error)) {
	delete(s.records, t.Client)
	if !t.Until.IsZero() {
		s.tombstones[t.Client] = t
	}
	done(nil)
}
