package o2iblnd

import (
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnd/verbs"
)

// absences measures for how long handlers of this node have kept the NI from handling what arrives: answers of peers, and
// completions of what was sent. The peers are not to blame for that time, so the scan moves the deadlines by it (OB-5).
// It is known in two ways:
//
//   - A device may know for how long it was kept from reading ([verbs.AbsenceMeter]), by upcalls of any kind and of any NI.
//   - The completions of an NI are handed over one batch at a time, and by some devices in a goroutine that does not read. Other
//     devices than those above make the upcalls of events in the same goroutine. If two scans in a row find the same of these
//     upcalls in progress, the NI was absent between these scans. So up to two scan intervals of each absence count
//     towards time-outs.
//
// Only the scan uses it.
type absences struct {
	meter verbs.AbsenceMeter // the device; nil if it does not know for how long it was kept from reading

	mu      sync.Mutex    // guards all fields below
	metered time.Duration // what the device has said, as far as deadlines were moved by it
	busy    bool          // whether upcalls were in progress at the last scan
	ended   uint64        // number of upcalls that had ended at the last scan
	scanned time.Duration // time of the last scan
	running time.Duration // sum of the absences that the latest scans have found, each at least half of the time since the scan before
}

// since returns for how long the NI was absent since the last call. lasting is true for one call when absences go on for so
// long that this should be known.
func (a *absences) since(now time.Duration, u *upcalls) (absent time.Duration, lasting bool) {
	ended := u.ended.Load() // read before begun: if an upcall ends in between, the next scan finds another number
	busy := u.begun.Load() > ended
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.meter != nil {
		metered := a.meter.Absence()
		if d := metered - a.metered; d >= shortestAbsence {
			absent, a.metered = d, metered
		}
	}
	if a.busy && a.ended == ended {
		absent = max(absent, now-a.scanned)
	}
	passed := now - a.scanned
	a.busy, a.ended, a.scanned = busy, ended, now
	if 2*absent < passed { // the NI was there for most of the time
		a.running = 0
		return absent, false
	}
	before := a.running
	a.running += absent
	return absent, before < lastingAbsence && a.running >= lastingAbsence
}

const (
	// shortestAbsence is the shortest absence by which deadlines are moved. The scan steps no connection because of shorter ones.
	shortestAbsence = minScanInterval
	// mostPostponed bounds by how much absences move the deadline of a message. Otherwise a handler that never returns, or
	// handlers that take nearly all of the time, would keep messages from ending. Local policy.
	mostPostponed = verbs.MostAbsence
	// lastingAbsence is the length of absences that is logged.
	lastingAbsence = mostPostponed / 2
)

// upcalls counts upcalls of the device which keep the NI from handling what arrives.
type upcalls struct{ begun, ended atomic.Uint64 }

func (u *upcalls) begin() { u.begun.Add(1) }
func (u *upcalls) end()   { u.ended.Add(1) }

// postpone moves the deadline of t by the length of an absence, but not beyond latest.
func (t *tx) postpone(absent, latest time.Duration) {
	d := max(0, min(absent, mostPostponed-t.postponed, latest-t.deadline))
	t.deadline += d
	t.postponed += d
}

// postpone moves the deadlines by the length of an absence, but not beyond that of a message which is sent
// now. So the list of deadlines stays sorted: a message never has moved by less than one that is behind it.
func (x *exchange) postpone(now, absent time.Duration) {
	for t := x.first; t != nil; t = t.after {
		t.postpone(absent, now+x.cfg.timeout)
	}
}

// postpone moves the deadlines of waiting messages by the length of an absence, but not beyond latest.
func (q *txQueue) postpone(absent, latest time.Duration) {
	for t := q.head; t != nil; t = t.next {
		t.postpone(absent, latest)
	}
}
