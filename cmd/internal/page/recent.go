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

// maxEvents is how many events are kept, and maxAbout bounds the text of what an event is about, which
// may be a name from another node.
const (
	maxEvents = 100
	maxAbout  = 80
)

// Recent keeps the latest events. All methods are safe for concurrent use.
type Recent struct {
	mu     sync.Mutex
	events []Event // the latest last; guarded by mu
}

// Tell keeps an event that has a name and a record as event handlers get them.
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
	if len(r.events) == maxEvents {
		r.events = slices.Delete(r.events, 0, 1)
	}
	r.events = append(r.events, e)
}

// shortened returns a text that is not too long.
func shortened(s string) string {
	if runes := []rune(s); len(runes) > maxAbout {
		return string(runes[:maxAbout-1]) + "…"
	}
	return s
}

// list returns the events, the latest first.
func (r *Recent) list() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Clone(r.events)
	slices.Reverse(list)
	return list
}
