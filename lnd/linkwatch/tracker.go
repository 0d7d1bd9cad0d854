package linkwatch

import (
	"maps"
	"net/netip"
	"time"
)

const (
	// pollInterval is the interval at which the tracker asks for the links of the addresses
	// in use. The kernel reports the loss of a carrier at once, but a second loss within a
	// second, on any interface, only at the end of that second (net/core/link_watch.c).
	pollInterval = 100 * time.Millisecond
	// idleInterval replaces pollInterval while no address is in use.
	idleInterval = time.Second
	// dumpTimeout is how long a dump may take before it is asked for again.
	dumpTimeout = time.Second
	// dumpPause is the least time between the starts of two rounds of dumps.
	dumpPause = 50 * time.Millisecond
)

// tracker keeps a table up to date: it decides what to ask the kernel, and processes the
// answers. A round is a dump of all links and one of all addresses; the first one fills the
// table, and another follows when messages were lost. It reads no clock and has no socket.
type tracker struct {
	table
	seq     uint32        // sequence number of the last request
	dumping uint16        // the dump in progress, typeGetLink or typeGetAddr; 0: none
	dumpSeq uint32        // sequence number of the dump in progress
	began   time.Duration // when the dump in progress was requested
	again   bool          // another round of dumps is needed
	rounds  int           // number of rounds that were completed
	roundAt time.Duration // when the last round began
	pollAt  time.Duration // when to ask the kernel about links next
	polled  time.Duration // when the kernel was last asked about links
	awaited uint32        // sequence number of the last request about a link, while its answer is awaited; else 0
	stats   Stats
}

// Stats counts what a [Watcher] did.
type Stats struct {
	Changes   uint64 `json:"changes"`   // changes of links and addresses that the kernel reported
	Lost      uint64 `json:"lost"`      // times that messages were lost because the socket had no room
	Rounds    uint64 `json:"rounds"`    // rounds of dumps that were begun
	Malformed uint64 `json:"malformed"` // messages of the kernel that were invalid
}

func newTracker() *tracker { return &tracker{table: newTable(), again: true} }

// receive processes the messages that came in one read, and reports whether a state may have changed.
func (t *tracker) receive(b []byte) (changed bool) {
	err := parse(b, func(m message) {
		t.heard(m)
		switch m.kind {
		case typeDone, typeError:
			if t.dumping != 0 && m.seq == t.dumpSeq {
				t.endDump(m)
				changed = true
			}
		default:
			t.again = t.again || m.interrupted
			if t.take(m) {
				t.stats.Changes++
				changed = true
			}
		}
	})
	if err != nil {
		t.stats.Malformed++
		t.again = true
		changed = true
	}
	return changed
}

// heard notes the answer to the last question about a link.
func (t *tracker) heard(m message) {
	if m.seq == t.awaited && (m.kind == typeNewLink || m.kind == typeError) {
		t.awaited = 0
	}
}

// endDump ends the dump under way. The dump removes nothing from the table if it failed, if changes
// interrupted it, or if messages were lost or malformed since it was requested.
func (t *tracker) endDump(m message) {
	ended := t.dumping
	t.dumping = 0
	if m.kind == typeError || m.interrupted || t.again {
		t.again = true
		return
	}
	if ended == typeGetLink {
		t.sweepLinks()
		t.dumping, t.dumpSeq = typeGetAddr, 0 // the next request asks for the dump of addresses
		return
	}
	t.sweepAddrs()
	t.rounds++
}

// lose notes that messages of the kernel were lost.
func (t *tracker) lose() {
	t.stats.Lost++
	t.again = true
	t.awaited = 0 // the lost messages may include the awaited answer
}

// requests appends the requests to send now, and returns when to call it again at the latest.
func (t *tracker) requests(now time.Duration, b []byte) ([]byte, time.Duration) {
	if t.dumping != 0 && t.dumpSeq != 0 && now-t.began >= dumpTimeout {
		t.dumping, t.again = 0, true
	}
	switch {
	case t.dumping == 0 && t.again && (t.stats.Rounds == 0 || now-t.roundAt >= dumpPause):
		t.again = false
		t.roundAt = now
		t.stats.Rounds++
		t.round++
		b = t.dump(now, typeGetLink, b)
	case t.dumping == typeGetAddr && t.dumpSeq == 0:
		b = t.dump(now, typeGetAddr, b)
	}
	if now >= t.pollAt {
		b = t.pollOrWait(now, b)
	}
	switch {
	case t.dumping != 0:
		return b, min(t.pollAt, t.began+dumpTimeout)
	case t.again:
		return b, min(t.pollAt, t.roundAt+dumpPause)
	}
	return b, t.pollAt
}

func (t *tracker) dump(now time.Duration, kind uint16, b []byte) []byte {
	t.seq++
	t.dumping, t.dumpSeq, t.began = kind, t.seq, now
	return appendDump(b, kind, t.seq)
}

// pollOrWait asks about the links in use, unless the kernel owes an answer: more questions would
// only pile up in front of the kernel's messages about changes.
func (t *tracker) pollOrWait(now time.Duration, b []byte) []byte {
	t.pollAt = now + pollInterval
	if t.awaited != 0 && now-t.polled < dumpTimeout {
		return b
	}
	t.polled = now
	if len(t.homes) == 0 {
		t.pollAt = now + idleInterval
	}
	return t.poll(b)
}

// poll asks about the links of the addresses in use.
func (t *tracker) poll(b []byte) []byte {
	for _, h := range t.homes { // any order: the answers do not depend on each other
		if t.links[h.index] != nil {
			t.seq++
			t.awaited = t.seq
			b = appendLink(b, h.index, t.seq)
		}
	}
	return b
}

// ready reports whether the table has been filled.
func (t *tracker) ready() bool { return t.rounds > 0 }

// forget removes the addresses that are not in use any more, so that the tracker no longer asks for
// their links.
func (t *tracker) forget(used func(netip.Addr) bool) {
	maps.DeleteFunc(t.homes, func(a netip.Addr, _ home) bool { return !used(a) })
}
