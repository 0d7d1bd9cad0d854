package health

import (
	"slices"
	"sync"
	"time"
)

// keptHistory is how many evictions an agent remembers; newer ones overwrite the oldest.
const keptHistory = 4096

// Past is the end of a client's connection at a server: an event ClientEvicted, with its time.
type Past struct {
	At time.Time `json:"time"` // time of the wall clock; zero if the agent has none
	Event
}

// history is a ring of the latest evictions.
type history struct {
	mu   sync.Mutex
	ring []Past // the latest evictions; mu guards ring and next
	next int    // index of the oldest eviction once the ring is full
}

// add records an eviction in constant time.
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

// list returns the latest evictions that match, at most limit, the oldest first, and the number
// of all that match.
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

// History returns the latest evictions by this agent for which match is true, at most limit, the
// oldest first, and the number of all such evictions. The agent remembers the last 4096. The
// function match must be quick, and must not call the agent.
func (a *ServerAgent) History(limit int, match func(*Past) bool) (list []Past, matching int) {
	return a.past.list(limit, match)
}

// remember records an eviction in the agent's history.
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
