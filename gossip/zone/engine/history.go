package engine

import (
	"math/bits"
	"time"

	"ulnet/gossip/zone/wire"
)

// history has what the view does not say of former members: when they left, in order
// (membership design, Bootstrap & History).
type history struct {
	list      []departed // the oldest first; entries of nodes that came back, or left again, are outdated
	of        map[wire.Ref]farewell
	count     uint64
	strangers []wire.Ref // nodes that left and were never in the view, the oldest first (MS-A4)
}

type departed struct {
	ref    wire.Ref
	number uint64 // the same number as that of the farewell that belongs to this departure
	at     time.Duration
}

// farewell is when and why a node left.
type farewell struct {
	number uint64
	at     time.Duration // by the caller's clock, which includes the pauses of this node
	cause  Cause
	code   int32
	by     []Witness // with Dead: the nodes that reported the failure
	// relayed is when another node passed on the latest goodbye of a node that was not a member then; 0: never.
	relayed time.Duration
}

// Bounds of the history (MS-A10).
const (
	maxStrangers   = 1024
	minHistoryAge  = time.Minute
	softHistory    = 4
	softHistoryMin = 1024
	hardHistory    = 8
	hardHistoryMin = 4096
)

// bury moves a node from the view into the history.
func (m *Machine) bury(r wire.Ref, v wire.Version, f farewell) {
	h := &m.history
	delete(m.ahead, r)
	m.view.set(r, entry{inc: v.Inc, minor: v.Minor, state: inHistory, orderly: f.cause == Said})
	if h.of == nil {
		h.of = make(map[wire.Ref]farewell)
	}
	h.count++
	f.number, f.at = h.count, m.pauses.last
	h.of[r] = f
	h.list = append(h.list, departed{r, h.count, m.now})
	m.prune()
	m.discovery.arm(m)
}

// unbury removes a node from the history. e is the node's new entry in the view: that of a
// member, or the zero entry.
func (m *Machine) unbury(r wire.Ref, e entry) {
	delete(m.history.of, r)
	m.view.set(r, e)
}

// current reports whether an entry of the list is the latest of its node.
func (h *history) current(d departed) bool {
	f, ok := h.of[d.ref]
	return ok && f.number == d.number
}

// prune forgets the oldest nodes once there are too many (MS-15, MS-A10).
func (m *Machine) prune() {
	h, soft := &m.history, softHistory*m.view.members+softHistoryMin
	if len(h.list) > 2*len(h.of)+softHistoryMin {
		kept := h.list[:0]
		for _, d := range h.list {
			if h.current(d) {
				kept = append(kept, d)
			}
		}
		h.list = kept
	}
	for len(h.of) > soft {
		d := h.list[0]
		hard := len(h.of) > hardHistory*m.view.members+hardHistoryMin
		if h.current(d) {
			if !hard && m.now-d.at < m.historyAge() {
				return
			}
			m.unbury(d.ref, entry{})
			m.stats.Forgotten++
		}
		h.list = h.list[1:]
	}
}

// historyAge returns how long a node stays in the history at least.
func (m *Machine) historyAge() time.Duration {
	return max(minHistoryAge, 10*time.Duration(m.diameter()+2)*m.cfg.Aggregation)
}

// diameter returns an upper bound of the overlay's diameter: ⌈log N⌉ + 1, where the base of the logarithm
// is K_r (MS-25).
func (m *Machine) diameter() int {
	base := uint64(max(m.cfg.Random, 2))
	hops := 1
	for reach := uint64(1); reach < uint64(m.view.members) && hops < bits.UintSize; hops++ {
		reach *= base
	}
	return hops
}

// stranger remembers the goodbye of a node of which nothing was known (MS-52).
func (m *Machine) stranger(r wire.Ref, v wire.Version, code int32) {
	h := &m.history
	m.bury(r, v, farewell{cause: Said, code: code, relayed: m.now})
	h.strangers = append(h.strangers, r)
	if len(h.strangers) <= maxStrangers {
		return
	}
	oldest := h.strangers[0]
	h.strangers = h.strangers[1:]
	// A stranger that was in the view meanwhile keeps its entry in the history, because its id is
	// known now.
	if m.view.at(oldest).state == inHistory && !m.cfg.Table.ID(oldest).IsValid() {
		m.unbury(oldest, entry{})
	}
}
