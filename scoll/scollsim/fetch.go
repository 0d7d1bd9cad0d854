package scollsim

import (
	"ulnet/lnd/sim"
	"ulnet/scoll/engine"
)

// fetch fetches bulk data, or a list of members, for a bare machine: one GET after the other.
type fetch struct {
	engine.Effect // of kind DoFetch; Limit rises

	there uint64 // bytes that have arrived
	asked bool   // a GET is under way
	data  []byte // the list of members; nil: bulk data
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
	p.put(nodeOf(f.To), &message{
		kind: Get, bits: f.Bits, offset: f.there, length: min(f.Limit-f.there, uint64(f.Chunk)), id: f.ID, list: f.List, incarnation: p.incarnation.Number,
	}, out)
}

// answerGet answers a GET, if data is exposed under its match bits.
func (p *program) answerGet(from sim.NodeID, m *message, out *sim.Output[*message]) {
	e := p.exposed[m.bits]
	if e == nil || m.offset+m.length > e.length {
		return
	}
	answer := &message{kind: Data, list: m.list, offset: m.offset, length: m.length, id: m.id, incarnation: m.incarnation}
	if m.list {
		answer.data = e.data[m.offset : m.offset+m.length]
	}
	p.put(from, answer, out)
}

// fetched takes the answer to a GET. Duplicates are dropped.
func (p *program) fetched(m *message, out *sim.Output[*message]) {
	f := p.fetches[m.id]
	if f == nil || m.incarnation != p.incarnation.Number || !f.asked || m.offset != f.there || m.list != f.List {
		return
	}
	f.asked = false
	f.there += m.length
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
	m := new(message)
	if e.List {
		m.data = e.Members.AppendTo(nil)
		m.length = uint64(len(m.data))
	} else if w := p.works[e.ID]; w != nil {
		m.length = w.bulk
	}
	p.exposed[e.Bits] = m
	p.bits[e.ID] = append(p.bits[e.ID], e.Bits)
}

// withdraw makes exposed data unavailable again.
func (p *program) withdraw(id engine.RequestID) {
	for _, bits := range p.bits[id] {
		delete(p.exposed, bits)
	}
	delete(p.bits, id)
	p.input(engine.Input{Kind: engine.InWithdrawn, ID: id})
}
