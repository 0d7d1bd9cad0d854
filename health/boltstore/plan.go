package boltstore

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"ulnet/health"
)

// plan is what a batch of calls changes: the last change of each client's record, and all
// tombstones.
type plan struct {
	changes    []change // sorted by key
	tombstones []call
	voids      map[health.ClientID]uint64 // by client: its tombstones up to this incarnation are removed before others are added
	next       uint64
	counts     counts // counts after the commit; write adds the number of tombstones
}

// change puts a record under a key, or removes it.
type change struct {
	client health.ClientID
	key    uint64
	record []byte
}

func (s *Store) plan(batch []call) plan {
	p := plan{next: s.next, counts: counts{clients: uint64(len(s.keys)), tombstones: s.tombstones, epochs: s.epochs}}
	last := make(map[health.ClientID]int, len(batch))
	for i := range batch {
		c := &batch[i]
		if c.err != nil {
			continue
		}
		last[c.client] = i
		if c.key != nil {
			p.tombstones = append(p.tombstones, *c)
		}
		if c.void > 0 {
			p.void(c)
		}
	}
	for i := range batch {
		c := &batch[i]
		if at, ok := last[c.client]; !ok || at != i {
			continue
		}
		key, known := s.keys[c.client]
		switch {
		case !known && c.record == nil:
			continue
		case !known:
			key = p.next
			p.next++
			p.counts.clients++
		case c.record == nil:
			p.counts.clients--
		}
		p.changes = append(p.changes, change{c.client, key, c.record})
	}
	slices.SortFunc(p.changes, func(a, b change) int { return cmp.Compare(a.key, b.key) })
	slices.SortStableFunc(p.tombstones, func(a, b call) int { return bytes.Compare(a.key, b.key) })
	return p
}

// void handles a call that removes the tombstones of a client up to the incarnation c.void: it removes
// them from the plan, and records in p.voids that unbury has to remove them from the database.
func (p *plan) void(c *call) {
	if p.voids == nil {
		p.voids = make(map[health.ClientID]uint64)
	}
	p.voids[c.client] = max(p.voids[c.client], c.void)
	p.tombstones = slices.DeleteFunc(p.tombstones, func(g call) bool {
		return g.client == c.client && binary.LittleEndian.Uint64(g.tombstone) <= c.void
	})
}

// unbury removes from the database the tombstones of evictions that were withdrawn (p.voids), and their epochs.
func (p *plan) unbury(tombstones, epochs *bbolt.Bucket) error {
	if len(p.voids) == 0 {
		return nil
	}
	var keys [][]byte // the keys are collected first, because deleting during the iteration would disturb the cursor
	err := tombstones.ForEach(func(key, value []byte) error {
		if len(key) != tombstoneKey || p.voids[health.ClientID(key[8:])] == 0 {
			return nil
		}
		if t, err := parseTombstone(key, value); err == nil && t.Incarnation <= p.voids[t.Client] {
			keys = append(keys, bytes.Clone(key))
		}
		return nil
	})
	for _, key := range keys {
		if err == nil {
			err = tombstones.Delete(key)
			p.counts.tombstones--
		}
		if err == nil && epochs.Get(key) != nil {
			err = epochs.Delete(key)
			p.counts.epochs--
		}
	}
	return err
}

// empty reports whether the plan writes nothing.
func (p *plan) empty() bool {
	return len(p.changes) == 0 && len(p.tombstones) == 0 && len(p.voids) == 0
}

// write makes the changes in a transaction.
func (p *plan) write(tx *bbolt.Tx, now time.Time) error {
	clients, tombstones := tx.Bucket(clientsBucket), tx.Bucket(tombstonesBucket)
	// Fill pages to 90 %: keys mostly ascend, so few entries are inserted into full pages later.
	clients.FillPercent, tombstones.FillPercent = 0.9, 0.9
	for i := range p.changes {
		c := &p.changes[i]
		key := binary.BigEndian.AppendUint64(nil, c.key)
		if c.record == nil {
			if err := clients.Delete(key); err != nil {
				return err
			}
		} else if err := clients.Put(key, c.record); err != nil {
			return err
		}
	}
	if err := p.writeTombstones(tx, tombstones, now); err != nil {
		return err
	}
	p.counts.commit = uint64(tx.ID())
	meta := tx.Bucket(metaBucket)
	return errors.Join(meta.Put(countsKey, appendCounts(nil, p.counts)), meta.Put(epochsKey, appendEpochs(nil, p.counts)))
}

// writeTombstones removes and adds tombstones and their epochs.
func (p *plan) writeTombstones(tx *bbolt.Tx, tombstones *bbolt.Bucket, now time.Time) error {
	epochs, err := tx.CreateBucketIfNotExists(epochsBucket)
	if err != nil {
		return err
	}
	epochs.FillPercent = 0.9
	if err := p.unbury(tombstones, epochs); err != nil {
		return err
	}
	for i := range p.tombstones {
		t := &p.tombstones[i]
		if err := put(tombstones, t.key, t.tombstone, &p.counts.tombstones); err != nil {
			return err
		}
		if t.epoch == nil {
			continue
		}
		if err := put(epochs, t.key, t.epoch, &p.counts.epochs); err != nil {
			return err
		}
	}
	return errors.Join(forget(tombstones, now, &p.counts.tombstones), forget(epochs, now, &p.counts.epochs))
}

// put puts a value under a key, and adds 1 to the count if the key is new.
func put(b *bbolt.Bucket, key, value []byte, count *uint64) error {
	if b.Get(key) == nil {
		*count++
	}
	return b.Put(key, value)
}

// maxExpired is how many expired tombstones one commit removes at most, so that no commit takes long. It is above
// maxBatch, the most tombstones that a commit adds, so that the number of expired ones decreases.
const maxExpired = 2 * maxBatch

// forget removes expired keys, at most maxExpired, and subtracts their number from the count. The bucket is that of the
// tombstones or that of their epochs. Keys of both have the same form and begin with the time of expiry, so the expired ones
// come first. A key of another length that it meets there is no tombstone's, and is removed whatever it says.
func forget(b *bbolt.Bucket, now time.Time, count *uint64) error {
	c := b.Cursor()
	n := maxExpired
	for key, _ := c.First(); key != nil && n > 0; key, _ = c.First() {
		if len(key) == tombstoneKey && binary.BigEndian.Uint64(key) > uint64(max(now.UnixNano(), 0)) {
			return nil
		}
		if err := b.Delete(key); err != nil {
			return err
		}
		*count--
		n--
	}
	return nil
}

// apply updates the keys of the records after the commit.
func (p *plan) apply(s *Store) {
	for i := range p.changes {
		c := &p.changes[i]
		if c.record == nil {
			delete(s.keys, c.client)
		} else {
			s.keys[c.client] = c.key
		}
	}
	s.next, s.tombstones, s.epochs = p.next, p.counts.tombstones, p.counts.epochs
}
