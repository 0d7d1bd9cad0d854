package health

import (
	"slices"
	"sync"
	"time"
)

// keptHistory is how many evictions an agent remembers; the oldest are overwritten.
const keptHistory = 4096

// Past is an eviction that a server has made: whom, and when by the wall clock. The
// zero time means that the agent has none.
type Past struct {
	At time.Time `json:"time"`
	Event
}

// history is a ring of the latest evictions.
type history struct {
	mu   sync.Mutex
	ring []Past // guarded by mu, like next
	next int    // where the oldest one is once the ring is full
}

// add notes an eviction in constant time.
func (h *history) add(p Past) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.ring) < keptHistory {
		h.ring = append(h.ring, p)
		return
	}
	h.ring[h.next] = p
	h.next = (h.next + 1) % keptHistory
}

// list returns the latest limit evictions that match, the oldest first, and how many
// match.
func (h *history) list(limit int, match func(*Past) bool) (list []Past, matching int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.ring {
		p := &h.ring[(h.next+len(h.ring)-1-i)%len(h.ring)]
		if !match(p) {
			continue
		}
		if matching++; len(list) < limit {
			list = append(list, *p)
		}
	}
	slices.Reverse(list)
	return list, matching
}

// History returns the latest limit evictions by this agent that match, the oldest
// first, and how many of those that it remembers match: the last 4096. match is
// quick, and does not call the agent.
func (a *ServerAgent) History(limit int, match func(*Past) bool) (list []Past, matching int) {
	return a.past.list(limit, match)
}

// remember notes an eviction.
func (a *ServerAgent) remember(e *Event) {
	if e.Kind != ClientEvicted {
		return
	}
	p := Past{Event: *e}
	if a.cfg.Wall != nil {
		p.At = a.cfg.Wall().Round(0)
	}
	a.past.add(p)
}
