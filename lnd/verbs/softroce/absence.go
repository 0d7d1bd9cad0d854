package softroce

import (
	"net/netip"
	"sync/atomic"
	"time"

	"ulnet/lnd/verbs"
)

// absence measures for how long upcalls keep the goroutine that reads a port from reading. Meanwhile
// the answers of peers lie unread, so time-outs of peers leave out that time. The goroutine that reads
// calls begin before upcalls, end after them, and back when it is about to read again; any goroutine may call
// at. The times are those that the connections read from the clock anyway. The zero value is ready.
type absence struct {
	// These fields tell other goroutines about absences. The value of since is isReading, or isChanging
	// while total changes, or the time at which the present absence began.
	since atomic.Int64
	total atomic.Int64 // how long the absences have been together that are over and were long

	// Only the goroutine that reads uses this field.
	ended time.Duration // when the last upcall of the present absence ended
}

// Values of absence.since that are no times. A time is stored plus 1, so that it is positive.
const (
	isReading  = 0
	isChanging = -1
)

// longAbsence is the shortest absence that counts. It is a quarter of the ACK timeout that this side asks for. In a
// silence as long as that, with shorter absences only, the device has read four times, so its peer was really silent.
// One read may bring a hundred messages: if the time that a loaded device needs for these counted as absence, it would
// take many times longer to notice that a peer is gone. Local policy.
const longAbsence = 128 * time.Millisecond

func (a *absence) begin(now time.Duration) {
	if a.since.Load() == isReading {
		a.since.Store(int64(now) + 1)
	}
	a.ended = now
}

func (a *absence) end(now time.Duration) { a.ended = now }

func (a *absence) back() {
	since := a.since.Load()
	if since == isReading {
		return
	}
	if d := a.ended - time.Duration(since-1); d >= longAbsence {
		a.since.Store(isChanging)
		a.total.Add(int64(min(d, verbs.MostAbsence)))
	}
	a.since.Store(isReading)
}

// away is what an absence has to say at one instant.
type away struct {
	total   time.Duration // how long the long absences have been together, including the present one
	present int64         // identifies the present absence if it is long already; 0: there is none
}

// at returns what a has to say. Of one absence only the first minute counts (verbs.MostAbsence).
func (a *absence) at(now time.Duration) away {
	for {
		since := a.since.Load()
		total := time.Duration(a.total.Load())
		if since == isChanging || a.since.Load() != since {
			continue // the goroutine that reads is in back
		}
		if d := now - time.Duration(since-1); since != isReading && d >= longAbsence {
			return away{total + min(d, verbs.MostAbsence), since}
		}
		return away{total: total}
	}
}

// upcall calls f, which makes upcalls that belong to no step of a connection, in the goroutine that reads the port.
func (h *hub) upcall(f func()) {
	h.absence.begin(h.clock.Now())
	f()
	h.absence.end(h.clock.Now())
}

// reporting returns a function that calls report as upcall does; nil for nil.
func (h *hub) reporting(report func(netip.Addr)) func(netip.Addr) {
	if report == nil {
		return nil
	}
	return func(from netip.Addr) { h.upcall(func() { report(from) }) }
}

var _ verbs.AbsenceMeter = (*device)(nil)

// Absence returns for how long upcalls have kept the device from reading (verbs.AbsenceMeter).
func (d *device) Absence() time.Duration { return d.hub.absence.at(d.hub.clock.Now()).total }
