package scoll

import (
	"slices"
	"sync"
	"time"

	"ulnet/cmd/internal/admin"
)

// keptBroadcasts bounds the remembered broadcasts that are over.
const keptBroadcasts = 256

// BroadcastEntry is a broadcast that this node sent.
type BroadcastEntry struct {
	ID        uint64          `json:"id"`                   // number of the broadcast, from 1 since lnetd has started
	Group     string          `json:"group"`                // name of the group
	Verb      string          `json:"verb"`                 // verb, as package admin names it
	Action    string          `json:"action,omitempty"`     // with the verb run: name of the action
	Bulk      int             `json:"bulk"`                 // size of the bulk data in bytes
	Members   int             `json:"members"`              // number of members that the broadcast is for
	Began     time.Time       `json:"began"`                // begin of the broadcast, by the wall clock
	Running   bool            `json:"running"`              // the broadcast has not ended
	Status    BroadcastStatus `json:"status,omitempty"`     // summary of the result; empty while it runs
	Error     string          `json:"error,omitempty"`      // why there is no result; empty: there is one, or it runs
	ElapsedUS int64           `json:"elapsed_us,omitempty"` // duration in µs; 0 while it runs
	Reached   int             `json:"reached"`              // number of members whose answer arrived
	Unreached int             `json:"unreached"`            // number of members whose answer did not arrive
}

// broadcasts records the broadcasts that this node has sent: all that are running, and the
// latest that have ended.
type broadcasts struct {
	mu   sync.Mutex
	last uint64            // number of the latest broadcast; guarded by mu
	list []*BroadcastEntry // the broadcasts, the oldest first; the list and its entries are guarded by mu
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
