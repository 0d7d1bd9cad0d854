package analyze

import (
	"slices"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Operation is a message that asks for an answer, and its answer.
type Operation struct {
	Kind        Kind          `json:"kind"`                   // what asks and what answers
	Service     string        `json:"service,omitempty"`      // name of the service, for requests
	From        nid.NID       `json:"src_nid"`                // the requester
	To          nid.NID       `json:"dest_nid"`               // the target
	Portal      uint32        `json:"portal"`                 // portal of the message that asks
	MatchBits   Bits          `json:"match_bits"`             // match bits of the message that asks
	Length      uint32        `json:"length"`                 // payload bytes of a PUT; bytes that a GET asks for
	Time        time.Time     `json:"time"`                   // when the message that asks was captured
	Frame       uint64        `json:"frame"`                  // number of the packet that completes the message that asks
	Connection  int           `json:"connection"`             // number of the connection of the message that asks
	AnswerFrame uint64        `json:"answer_frame,omitempty"` // number of the packet that completes the answer; 0 if there is no answer
	Latency     time.Duration `json:"latency_ns"`             // time to the answer or, if there is none, to the end of the capture
	Resent      uint32        `json:"resent,omitempty"`       // how often the message was sent again
}

// ask adds the operation of a message that asks for an answer.
func (a *Analyzer) ask(s *sighting, k key, service string) {
	if s.r.Datagram {
		return // a multicast message has no answer
	}
	e := &entry{
		key: k, asked: asked{s.portal, s.bits, s.length}, at: s.now, frame: s.r.Frame, conn: s.r.Conn.ID,
		from: s.from, to: s.to, side: sideOf(s.r, s.from, s.to, false),
	}
	if known := a.table.byKey[k].latest(); known != nil && known.asked == e.asked && !a.again(s, known, e) {
		return
	}
	e.byKind = a.kinds.row(kindKey{Kind: k.kind, Service: service, Portal: s.portal})
	e.byPair = a.pairs.row(pairKey{from: s.from, to: s.to})
	e.count(func(t *tally) {
		t.asked++
		if e.copied {
			t.copies++
		}
	})
	a.table.add(e)
	if a.table.open.Len() > a.limits.open {
		a.forget(a.table.forgetOpen())
	}
}

// again handles the message of the entry e, which repeats the message of the earlier operation known. It
// reports whether e counts as an operation of its own.
func (a *Analyzer) again(s *sighting, known, e *entry) bool {
	switch {
	case known.side != e.side:
		known.count(func(t *tally) { t.forwarded++ })
		return false
	case e.kind == RequestReply || known.conn != e.conn || known.from != e.from || known.to != e.to:
		known.count(func(t *tally) { t.resent++ })
		a.timeline.mark(s.now, markResent)
		known.resent++
		return e.kind == RequestReply && known.answered
	}
	e.copied = true
	return true
}

// count applies change to all rows of the report in which the operation counts.
func (e *entry) count(change func(*tally)) {
	change(e.byKind)
	change(e.byPair)
}

// forget gives up an operation without an answer.
func (a *Analyzer) forget(e *entry) {
	a.sum.Forgotten.Operations++
	if !e.copied {
		a.timeline.mark(e.at, markUnanswered)
	}
}

// answer finds the operation to which an answer belongs, and counts the answer: as the end of the
// operation, as repeated, as forwarded by a router or, if there is no such operation, as unmatched.
func (a *Analyzer) answer(s *sighting, k key) {
	w := a.table.byKey[k]
	where := sideOf(s.r, s.from, s.to, true)
	switch {
	case w.first != nil:
		e := w.first
		if !e.side.measures(where) {
			e.count(func(t *tally) { t.forwarded++ })
			return
		}
		a.done(e, s)
		a.table.answer(k)
	case w.answered == nil:
		a.sum.Unmatched.add(k.kind)
	default:
		e := w.answered
		forwarded := !e.side.measures(where)
		e.count(func(t *tally) {
			if forwarded {
				t.forwarded++
			} else {
				t.repeated++
			}
		})
	}
	if a.table.answered.Len() > a.limits.answered {
		a.table.forgetAnswered()
	}
}

// done records the latency of an operation that was answered.
func (a *Analyzer) done(e *entry, s *sighting) {
	latency := max(0, s.now-e.at)
	e.count(func(t *tally) {
		t.answered++
		t.latency.add(latency)
		if e.copied {
			t.copies--
		}
	})
	a.timeline.latency(e.at, e.kind, latency)
	if a.slowest.takes(latency) {
		o := a.operation(e)
		o.Latency, o.AnswerFrame = latency, s.r.Frame
		a.slowest.add(o)
	}
}

// fail ends the operations of a message whose payload could not be moved.
func (a *Analyzer) fail(now time.Duration, r *capture.Record, h *wire.Header) {
	var k key
	switch h.Type {
	case wire.Get:
		k = key{kind: GetReply, handle: h.Get().ReturnMD}
	case wire.Put:
		put := h.Put()
		k = key{kind: PutAck, handle: put.AckMD, number: put.MatchBits}
	}
	if e := a.table.byKey[k].first; e != nil {
		e.count(func(t *tally) {
			t.failed++
			if e.copied {
				t.copies--
			}
		})
		a.table.answer(k)
	}
}

// operation describes an operation without an answer.
func (a *Analyzer) operation(e *entry) Operation {
	o := Operation{
		Kind: e.kind, From: e.from, To: e.to, Portal: e.asked.portal, MatchBits: Bits(e.asked.bits), Length: e.asked.length,
		Time: a.start.Add(e.at), Frame: e.frame, Connection: e.conn, Resent: e.resent,
	}
	if e.kind == RequestReply {
		o.Service = a.cfg.Services[e.service].Name
	}
	return o
}

// slowest has the operations with the longest latencies, the longest first.
type slowest struct {
	most int
	list []Operation
}

// takes reports whether an operation with this latency belongs to the list.
func (s *slowest) takes(latency time.Duration) bool {
	return len(s.list) < s.most || latency > s.list[len(s.list)-1].Latency
}

func (s *slowest) add(o Operation) {
	at, _ := slices.BinarySearchFunc(s.list, o, func(a, b Operation) int {
		if a.Latency >= b.Latency {
			return -1
		}
		return 1
	})
	s.list = slices.Insert(s.list, at, o)
	s.list = s.list[:min(len(s.list), s.most)]
}
