package engine

import (
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/wire"
)

// Pipelined bulk data (SC-A17): a member forwards a request before it has the bulk data, and
// tells its children how many bytes it has. The service runs the request once all data has
// arrived. A member that gets no more data tells its children. None of them has all the data,
// so none has run the request, and one error for the whole subtree is exact.
//
// Timeouts count from the instant at which the parent has all data, as if it had forwarded the
// request then.

// pipeline is the state of pipelined bulk data of a request.
type pipeline struct {
	loading bool   // bulk data is being fetched, and children have the request
	there   uint64 // bytes that this node has, without a gap from the beginning
	known   uint64 // number of bytes that the parent has
	tries   uint8  // attempts to send a Progress to the children
	at      time.Duration
}

// origin identifies a request by its parent and the match bits that the parent chose.
type origin struct {
	parent nid.NID
	bits   uint64
}

// maxEarly bounds the kept Progress messages that arrived before their requests, and
// maxEarlyOfOne those of one parent.
const (
	maxEarly      = 64
	maxEarlyOfOne = 8
)

// pipelines finds requests by the messages of their parents.
type pipelines struct {
	byOrigin map[origin]*request
	early    []overtaking // Progress messages that came early; nil until the first one
}

// overtaking is a Progress that arrived before its request.
type overtaking struct {
	from origin
	wire.Progress
}

func (p *pipelines) init() { p.byOrigin = make(map[origin]*request) }

// keep stores a Progress. If maxEarlyOfOne of the same parent are stored, it replaces the oldest of these.
// Otherwise, if maxEarly are stored in all, it replaces the oldest of them.
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

// isPipelined reports whether this node fetches bulk data of a request in segments.
func (r *request) isPipelined() bool { return r.header.Segment > 0 && !r.root }

// expect registers a request for Progress messages of its parent, and applies those that
// came before the request.
func (m *Machine) expect(r *request) {
	if !r.isPipelined() {
		return
	}
	from := origin{r.parent, r.parentBits}
	m.pipelines.byOrigin[from] = r
	if root := int(r.header.Root); r.parent == r.roster.NID(root) {
		r.pipe.known = r.header.Bulk.Length // a root has all data from the beginning
	}
	for i := range m.pipelines.early {
		if e := &m.pipelines.early[i]; e.from == from {
			m.heardOf(r, &e.Progress)
			e.from = origin{}
		}
	}
}

// forgetOrigin removes a request from the index by which Progress messages find it.
func (m *Machine) forgetOrigin(r *request) {
	from := origin{r.parent, r.parentBits}
	if r.isPipelined() && m.pipelines.byOrigin[from] == r {
		delete(m.pipelines.byOrigin, from)
	}
}

// load fetches bulk data: all of it before the request is forwarded, or pipelined.
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
	if r.bulk != wire.OK { // the parent has said that no more bytes will come
		m.lost(r, r.bulk)
		return
	}
	e.Segments, e.Limit, e.Chunk = true, r.pipe.known, min(m.cfg.MaxPayload, int(r.header.Segment))
	r.pipe.loading = true
	m.emit(e)
	m.forward(r)
	m.schedule(r)
}

// progress handles a Progress message of a parent.
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

// heardOf applies a Progress to its request.
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

// progressed handles the arrival of more bulk data.
func (m *Machine) progressed(r *request, there uint64) {
	if !r.pipe.loading || there <= r.pipe.there || r.bulk != wire.OK {
		m.stats.Late++
		return
	}
	r.pipe.there = there
	m.tellChildren(r, wire.OK)
}

// loaded handles the end of the bulk data's arrival.
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

// sever aborts a pipeline: it notifies parent and children at once. The method lost does the rest
// when no GET uses the memory any more.
func (m *Machine) sever(r *request, s wire.Status) {
	if r.bulk != wire.OK {
		return
	}
	r.bulk = s
	m.refuseFor(r, s)
	m.tellChildren(r, s)
	m.emit(Effect{Kind: DoStop, ID: r.id})
}

// tellChildren sends a Progress to the children that have the request.
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

// untold handles a Progress that could not be sent. The machine retries for all children, with
// the state at the time of the retry; after maxTries the children run into their timeouts.
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

// tellAgain tries again to send a Progress.
func (m *Machine) tellAgain(r *request) {
	if r.pipe.at <= m.now {
		r.pipe.at = machine.Never
		m.stats.Retries++
		m.tellChildren(r, r.bulk)
	}
}
