package scoll

import (
	"cmp"
	"slices"

	"ulnet/cmd/internal/admin"
	"ulnet/lnet/nid"
)

// BenchTrace is the critical path of one broadcast: the steps one after the other, from sending
// at the root, down to the member whose answer was latest, and back. Their sum is the time to
// the answer.
type BenchTrace struct {
	Percentile int         `json:"percentile"`  // this broadcast is at this percentile of the times to the answer; 100: the longest
	Round      int         `json:"round"`       // number of the broadcast, from 0
	Answered   int64       `json:"answered_ns"` // time to the aggregated answer, in ns
	Steps      []BenchStep `json:"steps"`       // the critical path
	Collected  int         `json:"collections"` // garbage collections that ended on the way
}

// BenchStep is a step of a critical path. If the steps of a child come between two steps of a member, the
// member waits for that child in the meantime.
type BenchStep struct {
	NID    nid.NID `json:"nid"`              // NID of the member whose step it is
	Kind   string  `json:"kind"`             // what the time was spent for: StepSend, StepWake, StepWork or StepGC
	From   nid.NID `json:"from,omitzero"`    // with StepWake: the member whose message it was
	Answer bool    `json:"answer,omitempty"` // with StepWake: the message was an answer of a child
	NS     int64   `json:"ns"`               // length of the step, in ns
}

// The kinds of steps.
const (
	StepSend = "send"    // the member takes a request and sends it to its children
	StepWake = "wake-up" // a message is on the way, and the member is woken for it
	StepWork = "work"    // the member merges the last answer with the others and sends its own
	StepGC   = "gc"      // a garbage collection stops the member
)

// tracedPercentiles are the percentiles of the time to the answer; the result has the critical path of the
// broadcast at each.
var tracedPercentiles = []int{50, 90, 99, 100}

// traces sorts the broadcasts by the time that they took. For each of tracedPercentiles it takes the
// broadcast at that percentile, and returns its critical path.
func (m *measurement) traces() (list []BenchTrace) {
	order := make([]int, len(m.rounds))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(m.rounds[a].Elapsed, m.rounds[b].Elapsed) })
	for _, percent := range tracedPercentiles {
		list = append(list, m.trace(percent, order[(len(order)*percent+99)/100-1]))
	}
	return list
}

// trace returns the critical path of a broadcast.
func (m *measurement) trace(percent, round int) BenchTrace {
	o := m.rounds[round]
	p := path{at: map[nid.NID]admin.Trace{}, now: o.Sent, end: o.Sent + int64(o.Elapsed)}
	for _, a := range o.Answers {
		if t, err := admin.ParseTrace(a.Data); err == nil {
			p.at[a.NID] = m.onRootClock(a.NID, round, t)
		}
	}
	p.follow(m.target.c.self)
	return BenchTrace{Percentile: percent, Round: round, Answered: int64(o.Elapsed), Steps: p.steps, Collected: p.collected}
}

// onRootClock converts the instants of a member's trace to the root's clock.
func (m *measurement) onRootClock(id nid.NID, round int, t admin.Trace) admin.Trace {
	if id == m.target.c.self {
		return t
	}
	offset := int64(t.Offset)
	if clocks := m.clocks[id]; round < len(clocks) {
		offset = int64(m.best(clocks, round).Offset)
	}
	t.Received, t.Sent, t.Forwarded = t.Received-offset, t.Sent-offset, t.Forwarded-offset
	if t.Last != 0 {
		t.Last -= offset
	}
	return t
}

// path is a critical path as far as it has been followed.
type path struct {
	at        map[nid.NID]admin.Trace // traces of the members, by the root's clock
	now, end  int64                   // the end of the latest step, and of the whole path
	steps     []BenchStep
	collected int
}

// follow adds the steps of a member that has the request, and of the members below it.
func (p *path) follow(id nid.NID) {
	t := p.at[id]
	delete(p.at, id) // the path visits each member at most once, even if forged traces name it again
	first := len(p.steps)
	child, below := p.at[t.Child]
	if below && t.Last >= t.Forwarded {
		p.step(BenchStep{NID: id, Kind: StepSend}, min(t.Forwarded, child.Received))
		p.step(BenchStep{NID: t.Child, Kind: StepWake, From: id}, child.Received)
		p.follow(t.Child)
		p.step(BenchStep{NID: id, Kind: StepWake, From: t.Child, Answer: true}, t.Last)
	}
	sent := t.Sent
	if first == 0 {
		sent = p.end
	}
	p.step(BenchStep{NID: id, Kind: StepWork}, sent)
	p.collected += int(t.Cycles)
	p.pause(id, first, int64(t.Paused))
}

// step adds a step that ends at an instant. Clocks are not exact: a step that would end before
// the one before it takes no time.
func (p *path) step(s BenchStep, end int64) {
	end = min(max(end, p.now), p.end)
	s.NS, p.now = end-p.now, end
	p.steps = append(p.steps, s)
}

// pause shortens the longest step of a member, from step first on, by ns, the time for which garbage
// collections stopped the member, and puts a step of kind StepGC after it.
func (p *path) pause(id nid.NID, first int, ns int64) {
	longest := -1
	for i := first; i < len(p.steps); i++ {
		if p.steps[i].NID == id && (longest < 0 || p.steps[i].NS > p.steps[longest].NS) {
			longest = i
		}
	}
	if ns = min(ns, p.steps[longest].NS); ns > 0 {
		p.steps[longest].NS -= ns
		p.steps = slices.Insert(p.steps, longest+1, BenchStep{NID: id, Kind: StepGC, NS: ns})
	}
}
