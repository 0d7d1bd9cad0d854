package engine

import (
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/wire"
)

// Pipelined bulk data (SC-A17): a request is forwarded before its bulk data is
// there, and parents tell their children how much of it they have. The service
// runs the request when all is there. A parent that gets no more tells its
// children so; none of them has all the data, so none has run the request, and
// what it says of its whole subtree is exact.
//
// Time-outs count from the instant at which the parent has all, as if it had
// forwarded the request then.

// pipeline is what a request knows of bulk data that comes in segments.
type pipeline struct {
	loading bool   // it is being fetched, and children have the request
	there   uint64 // bytes that we have, from the beginning
	known   uint64 // bytes that the parent has
	tries   uint8  // to tell children
	at      time.Duration
}

// origin names a request by what its parent put into it.
type origin struct {
	parent nid.NID
	bits   uint64
}

// maxEarly bounds what is kept of progress that overtook its request, and
// maxEarlyOfOne what is kept of one parent's.
const (
	maxEarly      = 64
	maxEarlyOfOne = 8
)

// pipelines finds requests by their parents' messages.
type pipelines struct {
	byOrigin map[origin]*request
	early    []overtaking // the oldest first; made when there is some: most machines never meet any
}

// overtaking is a word of progress without its request.
type overtaking struct {
	from origin
	wire.Progress
}

func (p *pipelines) init() { p.byOrigin = make(map[origin]*request) }

// keep takes note of a word of progress in place of the oldest: of those of the same
// parent if it has many.
func (p *pipelines) keep(o overtaking) {
	of := func(e overtaking) bool { return e.from.parent == o.from.parent }
	count := 0
	for i := range p.early {
		if of(p.early[i]) {
			count++
		}
	}
	switch {
	case count >= maxEarlyOfOne:
		i := slices.IndexFunc(p.early, of)
		p.early = slices.Delete(p.early, i, i+1)
	case len(p.early) == maxEarly:
		p.early = slices.Delete(p.early, 0, 1)
	}
	p.early = append(p.early, o)
}

// isPipelined reports whether bulk data of a request comes in segments here.
func (r *request) isPipelined() bool { return r.header.Segment > 0 && !r.root }

// expect has a request hear of its parent's progress, that which came before it
// included.
func (m *Machine) expect(r *request) {
	if !r.isPipelined() {
		return
	}
	from := origin{r.parent, r.parentBits}
	m.pipelines.byOrigin[from] = r
	if root := int(r.header.Root); r.parent == r.roster.NID(root) {
		r.pipe.known = r.header.Bulk.Length // roots begin with all
	}
	for i := range m.pipelines.early {
		if e := &m.pipelines.early[i]; e.from == from {
			m.heardOf(r, &e.Progress)
			e.from = origin{}
		}
	}
}

// forgetOrigin ends what expect began.
func (m *Machine) forgetOrigin(r *request) {
	from := origin{r.parent, r.parentBits}
	if r.isPipelined() && m.pipelines.byOrigin[from] == r {
		delete(m.pipelines.byOrigin, from)
	}
}

// load fetches bulk data: all before it is forwarded, or as it comes.
func (m *Machine) load(r *request) {
	bulk := r.header.Bulk
	e := Effect{Kind: DoFetch, ID: r.id, To: r.parent, Bits: bulk.Bits, Length: bulk.Length, Limit: bulk.Length, Chunk: m.cfg.MaxPayload}
	if sum := r.header.SumSize(); sum > 0 {
		e.Data = m.appendBytes(r.body[len(r.body)-sum:])
	}
	if !r.isPipelined() {
		r.phase = loading
		m.emit(e)
		return
	}
	if r.bulk != wire.OK { // the parent has said so
		m.lost(r, r.bulk)
		return
	}
	e.Segments, e.Limit, e.Chunk = true, r.pipe.known, min(m.cfg.MaxPayload, int(r.header.Segment))
	r.pipe.loading = true
	m.emit(e)
	m.forward(r)
	m.schedule(r)
}

// progress takes a parent's message.
func (m *Machine) progress(in *Input) {
	p, err := wire.ParseProgress(in.Data)
	if !m.mayHear(in, err, p.Signed) {
		return
	}
	key := origin{in.From, p.ReplyBits}
	if r := m.pipelines.byOrigin[key]; r != nil {
		m.heardOf(r, &p)
		return
	}
	m.stats.Early++
	m.pipelines.keep(overtaking{key, p})
}

// heardOf goes on with what the parent has.
func (m *Machine) heardOf(r *request, p *wire.Progress) {
	pipe := &r.pipe
	switch {
	case p.Status != wire.OK && pipe.loading:
		m.sever(r, p.Status)
	case p.Status != wire.OK && r.phase < running && r.bulk == wire.OK:
		r.bulk = p.Status
	case p.Status == wire.OK && p.There > pipe.known && p.There <= r.header.Bulk.Length:
		if pipe.known = p.There; pipe.known == r.header.Bulk.Length && !r.answered && r.hasSlot {
			r.limit = m.limitFromNow(r)
			m.schedule(r)
		}
		if pipe.loading {
			m.emit(Effect{Kind: DoFetchMore, ID: r.id, Limit: pipe.known})
		}
	}
}

// progressed: so much is here.
func (m *Machine) progressed(r *request, there uint64) {
	if !r.pipe.loading || there <= r.pipe.there || r.bulk != wire.OK {
		m.stats.Late++
		return
	}
	r.pipe.there = there
	m.tellChildren(r, wire.OK)
}

// loaded: all is here.
func (m *Machine) loaded(r *request) {
	r.pipe.loading, r.pipe.there = false, r.header.Bulk.Length
	for i := range r.children {
		if c := &r.children[i]; c.state == waiting {
			m.await(r, c, m.now+max(childTimeout(&r.header, c.Depth, r.processing), 1))
		}
	}
	m.tellChildren(r, wire.OK)
	m.start(r)
	m.schedule(r)
	m.gather(r)
}

// sever ends a pipeline that runs: everybody is told at once, and the rest
// follows when the memory is free.
func (m *Machine) sever(r *request, s wire.Status) {
	if r.bulk != wire.OK {
		return
	}
	r.bulk = s
	m.refuseFor(r, s)
	m.tellChildren(r, s)
	m.emit(Effect{Kind: DoStop, ID: r.id})
}

// tellChildren tells children that have the request what is here.
func (m *Machine) tellChildren(r *request, s wire.Status) {
	for i := range r.children {
		if c := &r.children[i]; c.state == waiting || c.state == retrying {
			m.tellChild(r, i, s)
		}
	}
}

func (m *Machine) tellChild(r *request, i int, s wire.Status) {
	p := wire.Progress{ReplyBits: r.bits, There: r.pipe.there, Status: s, Signed: m.cfg.Signed}
	begin := len(m.out.Buf)
	m.out.Buf = p.AppendTo(m.out.Buf)
	m.emit(Effect{
		Kind: DoTell, ID: r.id, Child: i, To: r.roster.NID(r.children[i].Rank), Data: Range{begin, len(m.out.Buf)},
	})
}

// untold: a message of progress cannot be sent. All are told again, as it is
// then; after some tries the children run into their time-outs.
func (m *Machine) untold(r *request, child int) {
	if child == Upward {
		m.untoldUp(r)
		return
	}
	if r.phase != running || r.pipe.at != machine.Never {
		return
	}
	if r.pipe.tries++; r.pipe.tries >= maxTries {
		m.stats.Unsent++
		return
	}
	r.pipe.at = m.now + r.backOff(r.pipe.tries)
	m.schedule(r)
}

// tellAgain does that.
func (m *Machine) tellAgain(r *request) {
	if r.pipe.at <= m.now {
		r.pipe.at = machine.Never
		m.stats.Retries++
		m.tellChildren(r, r.bulk)
	}
}
