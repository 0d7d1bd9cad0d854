package healthsim

import (
	"errors"
	"maps"
	"slices"
	"time"

	"ulnet/health"
	"ulnet/health/engine"
	"ulnet/lnd/simlnd"
)

// disk has the records and tombstones of a server. It survives restarts that keep state.
type disk struct {
	records    map[health.ClientID]health.Record
	tombstones map[health.ClientID][]health.Tombstone // in the order in which they were added
	broken     bool                                   // writes to the disk fail at present
}

// disk returns the disk of a server's new incarnation: the old one, or an empty one.
func (n *network) disk(id int, keeps bool) *disk {
	if n.disks[id] == nil || !keeps {
		n.disks[id] = &disk{records: make(map[health.ClientID]health.Record), tombstones: make(map[health.ClientID][]health.Tombstone)}
	}
	return n.disks[id]
}

// load returns the content of the disk, in the order of clients.
func (d *disk) load() (records []health.Record, tombstones []health.Tombstone) {
	for _, id := range slices.SortedFunc(maps.Keys(d.records), health.ClientID.Compare) {
		records = append(records, d.records[id])
	}
	for _, id := range slices.SortedFunc(maps.Keys(d.tombstones), health.ClientID.Compare) {
		tombstones = append(tombstones, d.tombstones[id]...)
	}
	return records, tombstones
}

func (d *disk) save(r health.Record) { d.records[r.Client] = r }

// remove removes the record of a client, and adds or removes a tombstone, as in health.Store.
func (d *disk) remove(t health.Tombstone) {
	delete(d.records, t.Client)
	switch {
	case t.Until.IsZero():
	case t.Until.After(past):
		same := func(old health.Tombstone) bool { return old.Incarnation == t.Incarnation && old.Epoch == t.Epoch }
		d.tombstones[t.Client] = append(slices.DeleteFunc(d.tombstones[t.Client], same), t)
	default:
		voided := func(old health.Tombstone) bool { return old.Incarnation <= t.Incarnation }
		d.tombstones[t.Client] = slices.DeleteFunc(d.tombstones[t.Client], voided)
	}
}

// buries reports whether the disk has the tombstone of an incarnation of a client, or of a later one.
func (d *disk) buries(id health.ClientID, incarnation uint64) bool {
	return slices.ContainsFunc(d.tombstones[id], func(t health.Tombstone) bool { return t.Incarnation >= incarnation })
}

// past is a time that has passed. A tombstone with this expiry means that the stored one must be
// removed.
var past = time.Unix(0, 1)

// wall converts a time on a node's clock to a time on the wall clock.
func wall(now time.Duration) time.Time { return time.Unix(0, epoch).Add(now) }

// write is a change that a bare machine makes to its disk and that is not durable yet. If the process
// dies, the change is lost.
type write struct {
	at time.Duration
	id uint64 // id of the DoSave to answer; 0: the change needs no answer
	do func()
}

// write queues a change of the disk, or answers at once if the simulation has no disks. Changes
// become durable one after the other.
func (s *server) write(id uint64, do func()) {
	each := s.net.cfg.store
	if each == 0 {
		if id != 0 {
			s.input(engine.ServerInput{Kind: engine.Saved, ID: id})
		}
		return
	}
	at := s.now
	if k := len(s.writes); k > 0 {
		at = max(at, s.writes[k-1].at)
	}
	at += each/2 + 1 + time.Duration(s.pcg.Uint64()%uint64(each))
	s.writes = append(s.writes, write{at, id, do})
}

// written finishes the changes that are due, and reports their results.
func (s *server) written() {
	for len(s.writes) > 0 && s.writes[0].at <= s.now {
		w := s.writes[0]
		s.writes = s.writes[1:]
		if !s.disk.broken {
			w.do()
		}
		if w.id != 0 || s.disk.broken {
			s.input(engine.ServerInput{Kind: engine.Saved, ID: w.id, Failed: s.disk.broken})
		}
	}
}

// restore gives the machine the content of the disk.
func (s *server) restore() {
	records, tombstones := s.disk.load()
	for _, t := range tombstones {
		if left := t.Until.Sub(wall(s.now)); left > 0 {
			s.input(engine.ServerInput{Kind: engine.RestoreTombstone, Client: t.Client, Incarnation: t.Incarnation, Epoch: t.Epoch, For: left})
		}
	}
	for i := range records {
		s.input(engine.ServerInput{Kind: engine.Restore, Record: &records[i]})
	}
}

// store is the disk of a server's agent. Each change takes the same time.
type store struct {
	*disk
	host    *simlnd.Host
	each    time.Duration
	durable time.Duration // time at which the latest change is durable
}

// Load implements health.Store.
func (s *store) Load() (records []health.Record, tombstones []health.Tombstone, err error) {
	records, tombstones = s.load()
	return records, tombstones, nil
}

// Save implements health.Store.
func (s *store) Save(r health.Record, done func(error)) { s.write(func() { s.save(r) }, done) }

// Remove implements health.Store.
func (s *store) Remove(t health.Tombstone, done func(error)) {
	s.write(func() { s.remove(t) }, done)
}

var errBroken = errors.New("the disk is broken")

// write makes a change durable with a delay, unless the host dies before.
func (s *store) write(do func(), done func(error)) {
	clock := s.host.Clock()
	s.durable = max(s.durable, clock.Now()) + max(s.each, 1)
	clock.AfterFunc(max(s.durable-clock.Now(), 1), func() {
		if s.broken {
			done(errBroken)
			return
		}
		do()
		done(nil)
	})
}
