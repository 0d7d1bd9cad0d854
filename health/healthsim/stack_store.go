package healthsim

import (
	"errors"
	"maps"
	"slices"
	"time"

	"ulnet/health"
	"ulnet/lnd/simlnd"
)

// store is the disk of a stack. It outlives the process.
type store struct {
	net        *Net
	host       *simlnd.Host
	durable    time.Duration // time at which the latest write is durable
	records    map[health.ClientID]health.Record
	tombstones map[health.ClientID]health.Tombstone
	broken     bool // writes to the store fail at present
}

var errBroken = errors.New("the disk is broken")

func newStore(n *Net, h *simlnd.Host) *store {
	return &store{
		net: n, host: h, records: make(map[health.ClientID]health.Record), tombstones: make(map[health.ClientID]health.Tombstone),
	}
}

// Load implements health.Store.
func (s *store) Load() (records []health.Record, tombstones []health.Tombstone, err error) {
	for _, id := range sortedIDs(s.records) {
		records = append(records, s.records[id])
	}
	tombstones = slices.SortedFunc(maps.Values(s.tombstones), func(a, b health.Tombstone) int { return a.Client.Compare(b.Client) })
	return records, tombstones, nil
}

// write makes a change durable with a delay, unless the host dies before.
func (s *store) write(f func(), done func(error)) {
	clock := s.host.Clock()
	s.durable = max(s.durable, clock.Now()) + max(s.net.cfg.Store, 1)
	clock.AfterFunc(max(s.durable-clock.Now(), 1), func() {
		if s.broken {
			done(errBroken)
			return
		}
		f()
		done(nil)
	})
}

// Save implements health.Store.
func (s *store) Save(r health.Record, done func(error)) {
	s.write(func() { s.records[r.Client] = r }, done)
}

// Remove implements health.Store.
func (s *store) Remove(t health.Tombstone, done func(error)) {
	s.write(func() {
		delete(s.records, t.Client)
		switch {
		case t.Until.IsZero():
		case t.Until.Equal(time.Unix(0, 1)):
			delete(s.tombstones, t.Client)
		default:
			t.Incarnation = max(t.Incarnation, s.tombstones[t.Client].Incarnation)
			s.tombstones[t.Client] = t
		}
	}, done)
}

var _ health.Store = (*store)(nil)
