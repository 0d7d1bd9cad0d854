package scoll

import (
	"slices"
	"sync"
	"time"

	"ulnet/cmd/internal/admin"
)

// keptBroadcasts is how many broadcasts that are over are remembered.
const keptBroadcasts = 256

// BroadcastEntry is a broadcast that this node sent.
type BroadcastEntry struct {
	ID        uint64          `json:"id"`
	Group     string          `json:"group"`
	Verb      string          `json:"verb"`
	Action    string          `json:"action,omitempty"`
	Bulk      int             `json:"bulk"` // bytes
	Members   int             `json:"members"`
	Began     time.Time       `json:"began"`
	Running   bool            `json:"running"`
	Status    BroadcastStatus `json:"status,omitempty"` // when it is over
	Error     string          `json:"error,omitempty"`
	ElapsedUS int64           `json:"elapsed_us,omitempty"`
	Reached   int             `json:"reached"`
	Unreached int             `json:"unreached"`
}

// broadcasts are those that this node sent: all that run, and the last that are
// over.
type broadcasts struct {
	mu   sync.Mutex
	last uint64            // guarded by mu
	list []*BroadcastEntry // guarded by mu, with the entries; the oldest first
}

func (l *broadcasts) begin(b *target, o admin.Order) *BroadcastEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e := &BroadcastEntry{
		ID: l.last, Group: b.group.name, Verb: o.Verb.String(), Action: o.Action, Bulk: len(o.Bulk),
		Members: len(b.group.nids), Began: time.Now().Round(0), Running: true,
	}
	l.list = append(l.list, e)
	return e
}

func (l *broadcasts) end(e *BroadcastEntry, reply *BroadcastReply, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Running, e.Status, e.ElapsedUS = false, reply.Status, reply.ElapsedUS
	e.Reached, e.Unreached = len(reply.Reached), len(reply.Unreached)
	if err != nil {
		e.Error = err.Error()
	}
	over := 0
	for i := len(l.list) - 1; i >= 0; i-- {
		if l.list[i].Running {
			continue
		}
		if over++; over > keptBroadcasts {
			l.list = slices.Delete(l.list, i, i+1)
		}
	}
}

func (l *broadcasts) snapshot() []BroadcastEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]BroadcastEntry, len(l.list))
	for i, e := range l.list {
		list[i] = *e
	}
	return list
}

// running reports whether a broadcast runs.
func (l *broadcasts) running() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.list, func(e *BroadcastEntry) bool { return e.Running })
}
