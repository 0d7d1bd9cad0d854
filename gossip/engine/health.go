package engine

import (
	"math/bits"

	"ulnet/lnet/nid"
)

// health is the health of all participants, as last reported.
type health struct {
	alive   []byte // one bit for each entry of the list: it is alive
	scratch []byte
	count   int
	died    map[int]uint64     // number of deaths of each participant that has died
	diedAt  map[int]uint64     // this node's cycle in which the latest death of a participant was reported with the present list, or in which this list came into use
	left    map[nid.NID]uint64 // number of deaths of each participant that has left the list
	changed bool               // health has changed since the last review
	total   int
	percent int
	quorum  bool
}

func (h *health) init(columns, total, percent int) {
	size := (columns + lanes - 1) / lanes
	h.alive, h.scratch = make([]byte, size), make([]byte, size)
	h.died, h.diedAt, h.count = make(map[int]uint64), nil, 0
	h.total, h.percent = total, percent
}

func (h *health) is(i int) bool { return h.alive[i/lanes]>>(i%lanes)&1 != 0 }

// review reports changes of the health of participants (gossip design, Determining Participant
// Health) and of the quorum.
func (m *Machine) review(out *Output) {
	h := &m.health
	if !h.changed || m.pause.holds(m.cycle) {
		return
	}
	h.changed = false
	h.count = m.ages.alive(byte(m.limits.Dead), byte(m.limits.Again), h.alive, h.scratch)
	for i, now := range h.scratch {
		for diff := now ^ h.alive[i]; diff != 0; diff &= diff - 1 {
			k := bits.TrailingZeros8(diff)
			m.turned(i*lanes+k, now>>k&1 != 0, out)
		}
	}
	h.alive, h.scratch = h.scratch, h.alive
	m.stealth.most = m.stealth.most || 2*h.count > m.list.Len()
	m.judgeQuorum(out)
}

// turned reports that a participant has died or come alive.
func (m *Machine) turned(i int, alive bool, out *Output) {
	kind := CameAlive
	if !alive {
		kind = Died
		m.health.died[i]++
		m.health.reported(i, m.cycle)
	}
	m.tell(out, Event{Kind: kind, NID: m.list.NID(i), Aliveness: m.health.died[i]})
}

// reported stores the cycle in which the latest death of a participant was reported.
func (h *health) reported(i int, cycle uint64) {
	if h.diedAt == nil {
		h.diedAt = make(map[int]uint64)
	}
	h.diedAt[i] = cycle
}

// leaves stores how often a participant had died when it left the list. If the participant
// joins again, its count continues, so that users notice its absence.
func (h *health) leaves(id nid.NID, died uint64) {
	if died == 0 {
		return
	}
	if h.left == nil {
		h.left = make(map[nid.NID]uint64)
	}
	h.left[id] = died
}

// joins restores the number of deaths that was stored when the participant left the list. These deaths do not show
// that the participant has ended, because it may run: its removal from the list counts as a death.
func (h *health) joins(id nid.NID, i int) {
	if died := h.left[id]; died > 0 {
		h.died[i] = died
		delete(h.left, id)
	}
}

// judgeQuorum compares the number of live participants with that of all; both include this
// node. With Config.Columns the node does not track all participants, and there is no quorum to
// judge.
func (m *Machine) judgeQuorum(out *Output) {
	h := &m.health
	if m.ages.n < h.total {
		return
	}
	quorum := h.count*100 > h.percent*h.total
	if quorum == h.quorum {
		return
	}
	h.quorum = quorum
	kind := QuorumLost
	if quorum {
		kind = QuorumWon
	}
	m.tell(out, Event{Kind: kind, Alive: h.count})
}

// tell appends an event.
func (m *Machine) tell(out *Output, e Event) {
	e.Clock = m.clock.value
	if m.message {
		e.Message, e.Header = true, m.messageClock
	}
	out.Events = append(out.Events, e)
}
