package o2iblnd

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnet/wire"
)

// TestAnswersBounded (OB-3): a peer sends a GET_REQ whenever it has a credit, and each answer takes many
// small WRITEs. However slowly the answers leave, at most twice the queue depth of them are under way.
// Everything is answered at the end and no credit is lost, also if both sides send GET_REQs in this way.
func TestAnswersBounded(t *testing.T) {
	spec.Covers(t, "OB-3")
	for name, askers := range map[string]int{"one side asks": 1, "both sides ask": 2} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			most := 0
			for range 200 {
				for _, e := range p.ends[:askers] {
					e.askAll()
				}
				for _, e := range p.ends {
					for e.deliver() {
					}
				}
				for _, e := range p.ends {
					for e.answer(80, 0) {
					}
					most = max(most, e.answers())
					e.completeTurn()
				}
			}
			if d := p.ends[0].x.cfg.depth; most <= d || most > 2*d {
				t.Errorf("%d answers under way at a time, want more than %d and at most %d", most, d, 2*d)
			}
			p.finish()
			for _, e := range p.ends[:askers] {
				if len(e.got) != e.begun || e.begun < 30 {
					t.Errorf("%d of %d GETs got their data", len(e.got), e.begun)
				}
			}
			if err := p.quiet(); err != nil {
				t.Error(err)
			}
		})
	}
}

// askAll spends all credits of e on GET_REQs for 80 fragments of one byte each. It ignores the
// reserved credits, which bound how many GET_REQs of a correct peer wait for their answers.
func (e *end) askAll() {
	e.x.reserved = e.x.cfg.depth
	for range e.x.credits {
		e.send(wire.Get, 80, 0, 80, true)
	}
}

// answers counts the answers to GET_REQs that are under way at e.
func (e *end) answers() (n int) {
	for _, t := range e.x.slots {
		if t != nil && t.kind == kib.GetDone && t.phase != phaseReply {
			n++
		}
	}
	return n
}

// completeTurn completes what e has sent, up to the end of a turn of WRITEs.
func (e *end) completeTurn() {
	for len(e.completes) > 0 {
		turn := isBulk(e.completes[0])
		e.complete()
		if turn {
			return
		}
	}
}

// finish delivers and answers everything that is under way.
func (p *pair) finish() {
	for again := true; again; {
		p.settle()
		again = false
		for _, e := range p.ends {
			again = e.answer(80, 0) || again
		}
	}
}
