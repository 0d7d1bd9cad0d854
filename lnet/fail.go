package lnet

import (
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"ulnet/lnet/nid"
)

// FailForever is the count of a FailedNID that fails without end.
const FailForever = -1

// maxFailed bounds the list of NIDs that fail; local policy.
const maxFailed = 1024

// FailedNID is an entry of the list that FailNID keeps (struct lnet_test_peer).
type FailedNID struct {
	NID   nid.NID `json:"nid"`   // NID of the messages; nid.Any() stands for every NID
	Count int     `json:"count"` // number of messages still to fail, or FailForever
}

// failList makes messages fail on purpose (LNet lib-move.c, ln_test_peers).
type failList struct {
	armed atomic.Bool // whether entries is not empty; if it is empty, a message reads nothing but this

	mu      sync.Mutex
	entries []FailedNID // the oldest entry first; an entry whose count falls to 0 is removed; guarded by mu
}

// FailNID makes the next count messages to and from a NID fail, to test what
// is above (lnet_fail_nid). A Put or Get to it returns EIO; a message that
// comes from it is dropped as SimulatedFailure. ACKs and REPLYs to it are sent.
// A negative count is for ever, and nid.Any() stands for every NID. A NID may
// have several entries: the oldest that fits a message is used up first.
//
// Count 0 removes the entries of the NID; with nid.Any() it removes all.
//
//	EINVAL  id is no NID
//	ENOSPC  the list has 1024 entries
func (n *Node) FailNID(id nid.NID, count int) error {
	if !id.IsValid() {
		return syscall.EINVAL
	}
	if count == 0 {
		n.failing.remove(id)
		return nil
	}
	return n.failing.add(FailedNID{id, max(count, FailForever)})
}

// FailedNIDs returns the list that FailNID keeps, the oldest entry first.
func (n *Node) FailedNIDs() []FailedNID {
	n.failing.mu.Lock()
	defer n.failing.mu.Unlock()
	return slices.Clone(n.failing.entries)
}

// FailsPut reports whether a PUT or GET to dst is to fail, and uses up one message of
// FailNID. The layer above calls it before it begins an operation. dst is a pointer because a NID that
// was just written stalls the processor when it is copied.
func (n *Node) FailsPut(dst *nid.NID) bool { return n.failing.hits(dst) }

// hits reports whether a message to or from id is to fail, and counts it
// (fail_peer).
func (l *failList) hits(id *nid.NID) bool { return l.armed.Load() && l.use(*id) }

func (l *failList) use(id nid.NID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.entries {
		e := &l.entries[i]
		if e.NID != id && !e.NID.IsAny() {
			continue
		}
		if e.Count > 0 {
			e.Count--
		}
		if e.Count == 0 {
			l.set(slices.Delete(l.entries, i, i+1))
		}
		return true
	}
	return false
}

func (l *failList) add(e FailedNID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.entries) >= maxFailed {
		return syscall.ENOSPC
	}
	l.set(append(l.entries, e))
	return nil
}

func (l *failList) remove(id nid.NID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set(slices.DeleteFunc(l.entries, func(e FailedNID) bool { return id.IsAny() || e.NID == id }))
}

// set replaces the list by entries. The caller holds mu.
func (l *failList) set(entries []FailedNID) {
	l.entries = entries
	l.armed.Store(len(entries) > 0)
}
