package page

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"ulnet/cmd/internal/modules/gossip"
	"ulnet/cmd/internal/modules/health"
	"ulnet/cmd/internal/modules/zone"
)

// maxEvents bounds the kept events of protocols, and separately those of changes at the node, so that
// many changes cannot displace events of protocols. maxAbout bounds the text of what an event is about,
// which may be a name from another node.
const (
	maxEvents = 100
	maxAbout  = 80
)

// Recent keeps the latest events. All methods are safe for concurrent use.
type Recent struct {
	mu      sync.Mutex
	events  []Event // events of protocols, the latest last; guarded by mu
	changes []Event // events of NIs, routes and peers, the latest last; guarded by mu
}

// Tell keeps an event. It has a name and a record, in the form in which event handlers get them.
func (r *Recent) Tell(event string, record any) {
	e := Event{Time: time.Now(), Event: event}
	switch of := record.(type) {
	case gossip.Change:
		e.Time = of.Time
		if of.NID.IsValid() {
			e.About = of.NID.String()
		}
	case *zone.Event:
		e.Time, e.About = of.Time, of.ID.Name()
	case *health.Event:
		e.Time, e.About = of.Time, cmp.Or(of.Name, of.Client, of.Server, of.Peer)
	}
	e.About = shortened(e.About)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = kept(r.events, e)
}

// changed keeps events of NIs, routes and peers.
func (r *Recent) changed(events []Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes = kept(r.changes, events...)
}

// kept returns a list with further events at its end. Of more than maxEvents, it drops the oldest.
func kept(list []Event, events ...Event) []Event {
	list = append(list, events...)
	return slices.Delete(list, 0, max(0, len(list)-maxEvents))
}

// shortened returns a text, cut if it has more than maxAbout characters.
func shortened(s string) string {
	if runes := []rune(s); len(runes) > maxAbout {
		return string(runes[:maxAbout-1]) + "…"
	}
	return s
}

// list returns the events, the latest first: both lists merged by time, each in the order in which the
// events came.
func (r *Recent) list() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Event, 0, len(r.events)+len(r.changes))
	for i, j := len(r.events), len(r.changes); i+j > 0; {
		if j == 0 || i > 0 && r.events[i-1].Time.After(r.changes[j-1].Time) {
			i--
			list = append(list, r.events[i])
		} else {
			j--
			list = append(list, r.changes[j])
		}
	}
	return list
}
