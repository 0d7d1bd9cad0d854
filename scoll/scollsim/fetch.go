package scollsim

import (
	"maps"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/scoll/engine"
)

// fetch fetches bulk data, or a list of members, for a bare machine: one GET after the other.
type fetch struct {
	engine.Effect // the effect of kind DoFetch; its Limit rises

	there uint64 // bytes that have arrived
	asked bool   // a GET is under way
	data  []byte // the list of members; nil: bulk data is fetched
}

// fetch starts a fetch.
func (p *program) fetch(e *engine.Effect, out *sim.Output[*message]) {
	f := &fetch{Effect: *e}
	p.fetches[e.ID] = f
	p.ask(f, out)
}

// fetchMore raises the limit of a fetch.
func (p *program) fetchMore(e *engine.Effect, out *sim.Output[*message]) {
	if f := p.fetches[e.ID]; f != nil {
		f.Limit = e.Limit
		p.ask(f, out)
	}
}

// ask sends a GET for the next bytes, up to the limit.
func (p *program) ask(f *fetch, out *sim.Output[*message]) {
	if f.asked || f.there >= f.Limit {
		return
	}
	f.asked = true
	p.put(kit.NodeOf(f.To), &message{fields: fields{
		Kind: Get, Bits: f.Bits, Offset: f.there, Length: min(f.Limit-f.there, uint64(f.Chunk)), ID: f.ID, List: f.List, Incarnation: p.incarnation.Number,
	}}, out)
}

// answerGet answers a GET, if data is exposed under its match bits.
func (p *program) answerGet(from sim.NodeID, m *message, out *sim.Output[*message]) {
	e := p.exposed[m.Bits]
	if e == nil || m.Offset+m.Length > e.Length {
		return
	}
	answer := &message{fields: m.fields}
	answer.Kind, answer.Bits = Data, 0
	if m.List {
		answer.data = e.data[m.Offset : m.Offset+m.Length]
	}
	p.put(from, answer, out)
}

// fetched takes the answer to a GET. Duplicates are dropped.
func (p *program) fetched(m *message, out *sim.Output[*message]) {
	f := p.fetches[m.ID]
	if f == nil || m.Incarnation != p.incarnation.Number || !f.asked || m.Offset != f.there || m.List != f.List {
		return
	}
	f.asked = false
	f.there += m.Length
	f.data = append(f.data, m.data...)
	switch {
	case f.there >= f.Length:
		delete(p.fetches, f.ID)
		p.input(engine.Input{Kind: engine.InFetched, ID: f.ID, Data: f.data})
		return
	case f.Segments:
		p.input(engine.Input{Kind: engine.InProgress, ID: f.ID, There: f.there})
	}
	p.ask(f, out)
}

// expose lets children fetch a list, or the service's bulk data.
func (p *program) expose(e *engine.Effect) {
	m := &message{fields: fields{ID: e.ID}}
	if e.List {
		m.data = e.Members.AppendTo(nil)
		m.Length = uint64(len(m.data))
	} else if w := p.works[e.ID]; w != nil {
		m.Length = w.bulk
	}
	p.exposed[e.Bits] = m
}

// withdraw makes exposed data unavailable again.
func (p *program) withdraw(id engine.RequestID) {
	maps.DeleteFunc(p.exposed, func(_ uint64, m *message) bool { return m.ID == id })
	p.input(engine.Input{Kind: engine.InWithdrawn, ID: id})
}
