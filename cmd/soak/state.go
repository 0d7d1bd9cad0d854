package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ulnet/cmd/internal/drivers"
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// When operations take long the run collects the states of all workers: if the run ends with a
// violation they show where the operations were waiting, and whether anything still moved.
const (
	overdueAfter  = 4 * time.Second // age at which an operation is overdue; a fault of a link alone may cause that
	stateInterval = 2 * time.Second // shortest time from one collection to the next
	maxStates     = 30              // largest number of collections in a run
	maxOverdue    = 16              // largest number of overdue operations that a state names
)

// state is the state of a worker at one instant.
type state struct {
	Open        int                 `json:"open"`    // number of operations in flight
	Overdue     []string            `json:"overdue"` // the oldest operations that are overdue
	NIs         []niState           `json:"nis"`
	Peers       []lnet.PeerSnapshot `json:"peers"`
	Connections []drivers.Peer      `json:"connections"`
}

// niState is the state of an NI and of its driver.
type niState struct {
	NID     nid.NID        `json:"nid"`
	Credits int            `json:"credits"` // free credits; negative: number of messages that wait for one
	LND     drivers.Status `json:"lnd"`
}

// state returns the state of the worker.
func (w *worker) state(t *traffic) *state {
	s := &state{Peers: w.node.Peers(nid.NID{}, node.MaxPeerPage).Peers}
	s.Open, s.Overdue = t.oldest(time.Now())
	for _, ni := range w.node.Status().NIs {
		ni.LND.Tunables = nil // left out, because they are the same in the whole run
		s.NIs = append(s.NIs, niState{ni.NID, ni.Credits, ni.LND})
		c, err := w.node.Connections(node.ConnectionsRequest{Net: ni.Net})
		if err == nil { // an error means that the node no longer has this network
			s.Connections = append(s.Connections, c.Peers...)
		}
	}
	return s
}

// oldest returns how many operations are in flight, and describes the oldest of those that are overdue.
func (t *traffic) oldest(now time.Time) (open int, list []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var overdue []*operation
	for _, o := range t.open {
		if now.Sub(o.began) > overdueAfter {
			overdue = append(overdue, o)
		}
	}
	slices.SortFunc(overdue, func(a, b *operation) int { return a.began.Compare(b.began) })
	for _, o := range overdue[:min(len(overdue), maxOverdue)] {
		list = append(list, o.describe(now))
	}
	return len(t.open), list
}

// describe names an operation, with its age.
func (o *operation) describe(now time.Time) string {
	return fmt.Sprintf("operation %v (%v of %d bytes to worker %d), %.1f s old", o.id, o.kind, o.size, o.target, now.Sub(o.began).Seconds())
}

// overdue notes an operation that takes long, and asks all workers for their states.
func (s *soak) overdue(what string) {
	s.note("overdue: %s", what)
	if s.states >= maxStates || time.Since(s.stated) < stateInterval {
		return
	}
	s.states++
	s.stated = time.Now()
	for _, m := range s.members {
		if m.process != nil {
			_ = m.process.tell(cmdState) // fails only if the worker has ended
		}
	}
}

// keepState appends the state of a worker to the file of states.
func (s *soak) keepState(m *member, st *state) error {
	text, err := json.MarshalIndent(st, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(s.dir, "states.txt"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "%10.3f worker %d\n%s\n", time.Since(s.began).Seconds(), m.index, text)
	return err
}
