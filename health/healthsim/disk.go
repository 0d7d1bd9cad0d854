package healthsim

import (
	"math/rand/v2"
	"slices"
	"time"

	"ulnet/health"
	"ulnet/health/engine"
)

// disk keeps the records of a server over a restart. Writes become durable one after the other,
// with a delay; pending ones are lost when the process dies.
type disk struct {
	records    map[health.ClientID]health.Record
	tombstones map[health.ClientID]tombstone
	pending    []write
	broken     bool // writes to the disk fail at present
}

// tombstone remembers an eviction.
type tombstone struct {
	incarnation uint64
	until       time.Duration // time of expiry, by the node's clock
}

// write is a write that is not durable yet.
type write struct {
	at        time.Duration
	id        uint64         // id of the DoSave to be answered; 0: none is
	record    *health.Record // the record to save; nil: the record is removed
	client    health.ClientID
	tombstone tombstone // incarnation 0: there is none; an expired one removes the client's tombstone
}

func (d *disk) init(old *disk) {
	d.records, d.tombstones = make(map[health.ClientID]health.Record), make(map[health.ClientID]tombstone)
	if old != nil {
		d.records, d.tombstones, d.broken = old.records, old.tombstones, old.broken
	}
}

// add queues a write to the disk.
func (d *disk) add(now time.Duration, each time.Duration, rng *rand.PCG, w write) {
	if w.at = now; len(d.pending) > 0 {
		w.at = max(now, d.pending[len(d.pending)-1].at)
	}
	w.at += each/2 + 1 + time.Duration(rng.Uint64()%uint64(each))
	d.pending = append(d.pending, w)
}

// run finishes the writes that are due, and reports their results.
func (d *disk) run(now time.Duration, saved func(id uint64, failed bool)) {
	for len(d.pending) > 0 && d.pending[0].at <= now {
		w := d.pending[0]
		d.pending = d.pending[1:]
		switch {
		case d.broken:
		case w.record != nil:
			d.records[w.record.Client] = *w.record
		default:
			delete(d.records, w.client)
			if w.tombstone.incarnation > 0 {
				w.tombstone.incarnation = max(w.tombstone.incarnation, d.tombstones[w.client].incarnation)
				d.tombstones[w.client] = w.tombstone
			}
		}
		if w.id != 0 || d.broken {
			saved(w.id, d.broken)
		}
	}
}

// next returns when the next queued write becomes durable.
func (d *disk) next() (at time.Duration, some bool) {
	if len(d.pending) == 0 {
		return 0, false
	}
	return d.pending[0].at, true
}

// load returns the inputs that restore what was durable before a restart, in the order of clients.
func (d *disk) load(now time.Duration) (list []engine.ServerInput) {
	for _, id := range sortedIDs(d.tombstones) {
		if g := d.tombstones[id]; g.until > now {
			list = append(list, engine.ServerInput{Kind: engine.RestoreTombstone, Client: id, Incarnation: g.incarnation, For: g.until - now})
		}
	}
	for _, id := range sortedIDs(d.records) {
		r := d.records[id]
		list = append(list, engine.ServerInput{Kind: engine.Restore, Record: &r})
	}
	return list
}

func sortedIDs[V any](m map[health.ClientID]V) []health.ClientID {
	ids := make([]health.ClientID, 0, len(m))
	for id := range m { // any order: the ids are sorted below
		ids = append(ids, id)
	}
	slices.SortFunc(ids, health.ClientID.Compare)
	return ids
}
