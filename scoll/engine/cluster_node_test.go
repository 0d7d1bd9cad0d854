package engine

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
	"ulnet/scoll/wire"
)

func (n *simNode) put(to nid.NID, p *packet, out *sim.Output[*packet]) {
	n.sends++
	if n.c.tap != nil {
		n.c.tap(n.id, simID(to), p)
	}
	if n.c.forge != nil {
		if to, forged := n.c.forge(simID(to), *p); forged != nil {
			out.Sends = append(out.Sends, sim.Send[*packet]{To: to, Msg: forged, Size: 100})
		}
	}
	out.Sends = append(out.Sends, sim.Send[*packet]{To: simID(to), Msg: p, Size: len(p.data) + len(p.payload) + len(p.trailer)})
}

func (n *simNode) arrived(from sim.NodeID, p *packet, out *sim.Output[*packet]) {
	switch p.kind {
	case "request":
		n.queue = append(n.queue, Input{Kind: Arrival, From: simNID(from), Data: p.data})
	case "reply":
		in := Input{
			Kind: Return, From: simNID(from), Bits: p.bits, Data: p.data, Payload: p.payload, Trailer: p.trailer,
			Length: len(p.data) + len(p.payload) + len(p.trailer),
		}
		if h, _, err := wire.ParseReplyHeader(p.data); err == nil && h.Speaks() {
			in.Payload, in.Carried = nil, p.payload
		}
		n.queue, n.came = append(n.queue, in), p.payload
	case "get":
		if e, ok := n.exposed[p.bits]; ok {
			data := e.data[min(p.from, uint64(len(e.data))):min(p.from+p.size, uint64(len(e.data)))]
			n.put(simNID(from), &packet{kind: "data", data: data, from: p.from, id: p.id, list: p.list}, out)
		}
	case "data":
		if f := n.fetches[p.id]; f != nil && p.from == f.there {
			f.came(n, p.data, out)
		}
	}
}

// simFetch fetches data by one GET after the other.
type simFetch struct {
	e     Effect
	data  []byte
	parts [][]byte // parts of a list that have arrived
	there uint64
	asked bool
}

// pump sends a GET for the next bytes.
func (f *simFetch) pump(n *simNode, out *sim.Output[*packet]) {
	if f.asked || f.there >= f.e.Limit {
		return
	}
	f.asked = true
	size := min(f.e.Limit-f.there, uint64(f.e.Chunk))
	n.put(f.e.To, &packet{kind: "get", bits: f.e.Bits, from: f.there, size: size, id: f.e.ID, list: f.e.List}, out)
}

func (f *simFetch) came(n *simNode, data []byte, out *sim.Output[*packet]) {
	f.asked = false
	if f.e.List {
		f.parts = append(f.parts, data)
	} else {
		data = data[:min(len(data), len(f.data)-int(f.there))]
		copy(f.data[f.there:], data)
	}
	f.there += uint64(len(data))
	switch {
	case f.there == f.e.Length:
		delete(n.fetches, f.e.ID)
		n.queue = append(n.queue, Input{Kind: InFetched, ID: f.e.ID, Data: slices.Concat(f.parts...)})
		return
	case f.e.Segments:
		n.queue = append(n.queue, Input{Kind: InProgress, ID: f.e.ID, There: f.there})
	}
	f.pump(n, out)
}

// part returns a copy of a range of the output.
func (n *simNode) part(r Range) []byte { return slices.Clone(n.out.Buf[r.Begin:r.End]) }

func (n *simNode) apply(now time.Duration, e *Effect, out *sim.Output[*packet]) {
	switch e.Kind {
	case DoSend:
		n.put(e.To, &packet{kind: "request", data: n.part(e.Data)}, out)
		n.queue = append(n.queue, Input{Kind: InSent, ID: e.ID, Child: e.Child})
	case DoReply:
		p := &packet{kind: "reply", bits: e.Bits, data: n.part(e.Data), trailer: n.part(e.Trailer)}
		if p.payload = n.part(e.Carried); e.Own {
			p.payload, _ = e.Token.([]byte)
		}
		n.put(e.To, p, out)
		n.queue = append(n.queue, Input{Kind: InSent, ID: e.ID, Child: Upward, Part: e.Part})
	case DoRefuse:
		n.put(e.To, &packet{kind: "reply", bits: e.Bits, data: n.part(e.Data)}, out)
	case DoExpose:
		data := n.bulk
		if w := n.work[e.ID]; w != nil && w.fetched != nil {
			data = w.fetched
		}
		if e.List {
			if data = n.c.lists[e.Members]; data == nil {
				data = e.Members.AppendTo(nil)
				n.c.lists[e.Members] = data
			}
		}
		n.exposed[e.Bits] = packet{data: data}
		n.bits[e.ID] = append(n.bits[e.ID], e.Bits)
	case DoFetch:
		f := &simFetch{e: *e}
		if n.fetches[e.ID] = f; !e.List {
			f.data = make([]byte, min(e.Length, 64<<20)) // bounded, because a forged request may name any length
			n.bulk = f.data
			if w := n.work[e.ID]; w != nil {
				w.fetched = f.data
			}
		}
		f.pump(n, out)
	case DoFetchMore:
		n.fetches[e.ID].e.Limit = e.Limit
		n.fetches[e.ID].pump(n, out)
	case DoTell:
		n.put(e.To, &packet{kind: "request", data: n.part(e.Data)}, out)
	case DoStop:
		delete(n.fetches, e.ID)
		n.queue = append(n.queue, Input{Kind: InFetched, ID: e.ID, Status: wire.ETIMEDOUT})
	case DoWithdraw:
		for _, bits := range n.bits[e.ID] {
			delete(n.exposed, bits)
		}
		delete(n.bits, e.ID)
		n.queue = append(n.queue, Input{Kind: InWithdrawn, ID: e.ID})
	case DoFree:
		delete(n.work, e.ID)
		delete(n.fetches, e.ID)
	case Began:
		n.work[e.ID] = &work{root: true, children: slices.Clone(n.out.Children[e.Children.Begin:e.Children.End])}
	case Refused:
		n.refused = append(n.refused, e.Status)
	case Created:
		n.created = append(n.created, *e)
	default:
		n.call(now, e)
	}
}

// call calls the service of the node.
func (n *simNode) call(now time.Duration, e *Effect) {
	w := n.work[e.ID]
	switch e.Kind {
	case CallPreRequest:
		n.preRuns++
		n.work[e.ID] = &work{
			children: slices.Clone(n.out.Children[e.Children.Begin:e.Children.End]),
			bulk:     e.Header.Bulk.Length, payload: n.part(e.Data), root: w != nil, worked: e.Again,
		}
		n.queue = append(n.queue, Input{Kind: InPreRequest, ID: e.ID, Status: n.service.reject, Timeout: n.service.timeout})
	case CallIncoming:
		if e.Status == wire.OK {
			n.ran[string(w.payload)]++
		}
		switch {
		case n.service.deaf:
		case n.service.late > 0 && e.Status == wire.OK:
			n.errands = append(n.errands, errand{now + n.service.late, e.ID, false})
			return
		default:
			n.queue = append(n.queue, Input{Kind: InIncoming, ID: e.ID, Status: n.service.fail})
		}
		w.worked = true
	case CallReply:
		w.replies++
		switch {
		case e.Status != wire.OK:
			delete(w.got, e.Rank) // discard the parts that have arrived: an answer without its last part does not count
		case e.Passed:
			w.take(e.Rank, n.part(e.Data))
		case e.Length > 0:
			w.take(e.Rank, n.came)
		}
		n.queue = append(n.queue, Input{Kind: InReply, ID: e.ID, Child: e.Child})
	case CallPostReply:
		n.queue = append(n.queue, Input{Kind: InPostReply, ID: e.ID})
		if w.root {
			n.results = append(n.results, result{
				at: now, answered: ranksOf(w.all()), missing: slices.Clone(n.out.Missing[e.Missing.Begin:e.Missing.End]),
				busy: e.Busy, calls: w.replies,
			})
			return
		}
		if n.service.think > 0 {
			n.errands = append(n.errands, errand{now + n.service.think, e.ID, true})
			return
		}
		w.posted = true
		n.reply(e.ID, w)
	case CallReplyOut:
		n.outs++
		n.queue = append(n.queue, Input{Kind: InReplyOut, ID: e.ID})
	case CallMap:
		n.queue = append(n.queue, Input{Kind: InMapped, ID: e.ID, Members: n.c.members})
	}
}

// runErrands completes the work of late services that is due.
func (n *simNode) runErrands(now time.Duration) {
	n.errands = slices.DeleteFunc(n.errands, func(e errand) bool {
		if e.at > now {
			return false
		}
		w := n.work[e.id]
		if !e.replies {
			n.queue = append(n.queue, Input{Kind: InIncoming, ID: e.id, Status: n.service.fail})
		}
		if w != nil {
			w.worked, w.posted = w.worked || !e.replies, w.posted || e.replies
			n.reply(e.id, w)
		}
		return true
	})
}

// take adds one message of a member's answer.
func (w *work) take(rank int, payload []byte) {
	if w.got == nil {
		w.got = map[int][]byte{}
	}
	w.got[rank] = append(w.got[rank], payload...)
}

// all returns the answers that came, in the order of ranks.
func (w *work) all() (b []byte) {
	for _, rank := range slices.Sorted(maps.Keys(w.got)) {
		b = append(b, w.got[rank]...)
	}
	return b
}

// reply replies when the children have replied and the work is done: with its own rank and all answers or,
// with behaviour.below, with the answers alone.
func (n *simNode) reply(id RequestID, w *work) {
	s := &n.service
	if !w.posted || !w.worked || w.root {
		return
	}
	b := w.all()
	if !s.below {
		b = binary.LittleEndian.AppendUint32(b, uint32(n.id))
	}
	for range s.parts - 1 {
		part := b[:min(4, len(b))]
		b = b[len(part):]
		n.queue = append(n.queue, Input{Kind: Answer, ID: id, Size: len(part), Token: part})
	}
	if !s.mute {
		n.queue = append(n.queue, Input{Kind: Answer, ID: id, Final: true, Size: len(b), Token: b, Below: s.below, Status: wire.EAGAIN})
	}
}

func ranksOf(b []byte) (ranks []int) {
	for ; len(b) >= 4; b = b[4:] {
		ranks = append(ranks, int(binary.LittleEndian.Uint32(b)))
	}
	slices.Sort(ranks)
	return ranks
}
