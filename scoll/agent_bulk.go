package scoll

import (
	"slices"
	"sync"

	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/scoll/engine"
	"ulnet/scoll/wire"
)

// expose lets children fetch a list of members, or bulk data.
func (r *Request) expose(e *engine.Effect) {
	p := &post{r: r, segments: r.Bulk()}
	if e.List {
		p.segments = []portals.Segment{e.Members.AppendTo(nil)}
	}
	b, table := &r.buffers, r.agent.table
	b.mu.Lock()
	p.linked = true
	b.linked++
	b.exposed = append(b.exposed, p)
	b.mu.Unlock()
	children := portals.Match{ID: nid.ProcessID{NID: nid.Any(), PID: nid.PIDAny}, Bits: e.Bits}
	entry, err := table.MEAttach(wire.BulkPortal, children, portals.Unlink, portals.After)
	if err == nil {
		b.mu.Lock()
		p.entry = entry
		b.mu.Unlock()
		_, err = table.MDAttach(entry, portals.MD{
			Segments: p.segments, Threshold: portals.ThresholdInfinite, Options: portals.OpGet | portals.ManageRemote,
			Handler: func(e *portals.Event) {
				if e.Unlinked {
					p.unlinked()
				}
			},
		}, portals.Unlink)
		if err != nil {
			_ = table.MEUnlink(entry)
		}
	}
	if err != nil {
		p.unlinked() // on failure the children run into their timeouts
	}
}

// fetchWindow is how many GETs of one fetch are under way at a time.
const fetchWindow = 4

// fetch fetches data from the parent, in as few GETs as possible.
type fetch struct {
	a        *Agent
	id       engine.RequestID
	from     nid.NID
	bits     uint64
	list     []byte // encoded list of members; nil: bulk data is fetched
	segments []portals.Segment
	length   int
	chunk    int         // bytes that one GET asks for
	partly   bool        // the machine wants to be told whenever more bytes have arrived
	sum      wire.Digest // digest of the bulk data; zero: not known

	mu     sync.Mutex
	limit  int        // bytes that the parent has so far; guarded by mu, like all below
	next   int        // offset of the next GET
	under  []*getting // GETs under way, in the order of their offsets
	there  int        // bytes that have arrived without a gap from the beginning, as last told to the machine
	status Status
	told   bool // the machine was told that the fetch has ended
}

// getting is one GET of a fetch.
type getting struct {
	f    *fetch
	md   portals.MDHandle
	from int
	want int
	ok   bool
}

// fetch starts to fetch the list or the bulk data of a request.
func (a *Agent) fetch(e *engine.Effect, out *engine.Output) {
	f := &fetch{
		a: a, id: e.ID, from: e.To, bits: e.Bits, length: int(e.Length), limit: int(e.Limit), chunk: e.Chunk,
		partly: e.Segments,
	}
	copy(f.sum[:], out.Buf[e.Data.Begin:e.Data.End])
	if e.List {
		f.list = make([]byte, e.Length)
		f.segments = []portals.Segment{f.list}
		a.lists[e.ID] = f
	} else {
		r := a.request(e.ID)
		f.segments, r.frame = r.Bulk(), f
		if r.hasArrived() {
			f.next = f.length
		}
	}
	f.pump()
}

// stopFetch ends a fetch early.
func (a *Agent) stopFetch(id engine.RequestID) {
	f := a.lists[id]
	delete(a.lists, id)
	if f == nil {
		f = a.request(id).frame
	}
	f.stop()
}

// pump starts GETs, so that up to fetchWindow of them are under way. When the last one has ended,
// pump tells the machine that the fetch has ended.
func (f *fetch) pump() {
	f.mu.Lock()
	for f.status == OK && f.next < f.limit && len(f.under) < fetchWindow {
		g := &getting{f: f, from: f.next, want: min(f.limit-f.next, f.chunk)}
		f.next += g.want
		f.under = append(f.under, g)
		f.mu.Unlock()
		g.begin()
		f.mu.Lock()
	}
	over := len(f.under) == 0 && (f.status != OK || f.next == f.length) && !f.told
	f.told = f.told || over
	status := f.status
	f.mu.Unlock()
	switch {
	case over && status == OK && f.sum != wire.Digest{}: // in another goroutine, because the check may take long
		f.a.work(func() {
			f.a.do(engine.Input{Kind: engine.InFetched, ID: f.id, Status: f.check()})
		})
	case over:
		f.a.do(engine.Input{Kind: engine.InFetched, ID: f.id, Status: status, Data: f.list})
	}
}

func (g *getting) begin() {
	f := g.f
	md, err := f.a.table.MDBind(portals.MD{
		Segments: cut(f.segments, g.from, g.want), Threshold: 2, Options: portals.Priority, Handler: g.event,
	}, portals.Unlink)
	if err != nil {
		g.over(EIO)
		return
	}
	f.mu.Lock()
	g.md = md
	stopped := f.status != OK
	f.mu.Unlock()
	if stopped {
		_ = f.a.table.MDUnlink(md) // the GET ends with the event of the unlinking
		return
	}
	err = f.a.table.Get(portals.GetRequest{
		Self: f.a.self, MD: md, Target: nid.ProcessID{NID: f.from, PID: f.a.pid},
		Portal: wire.BulkPortal, MatchBits: f.bits, Offset: uint32(g.from),
	})
	if err != nil {
		_ = f.a.table.MDUnlink(md) // the GET ends with the event of the unlinking
	}
}

// event handles the events of a GET. The GET fails unless its whole answer came.
func (g *getting) event(e *portals.Event) {
	if e.Kind == portals.EventReply && e.Err == nil && int(e.MLength) == g.want {
		g.ok = true
	}
	if e.Unlinked {
		status := OK
		if !g.ok {
			status = EIO
		}
		g.over(status)
	} else if e.Err != nil {
		_ = g.f.a.table.MDUnlink(e.MD) // no event follows this one
	}
}

func (g *getting) over(s Status) {
	f := g.f
	f.mu.Lock()
	if f.status == OK {
		f.status = s
	}
	f.under = slices.DeleteFunc(f.under, func(other *getting) bool { return other == g })
	there := f.progress()
	f.mu.Unlock()
	if there > 0 {
		f.a.do(engine.Input{Kind: engine.InProgress, ID: f.id, There: uint64(there)})
	}
	f.pump()
}

// progress returns how many bytes have arrived without a gap from the beginning. It returns 0 if the machine
// knows that number already or has not asked for it. It also returns 0 when the fetch has ended, because pump
// reports the end. The caller holds f.mu.
func (f *fetch) progress() (there int) {
	if there = f.next; len(f.under) > 0 {
		there = f.under[0].from
	}
	if !f.partly || f.status != OK || there <= f.there || there == f.length {
		return 0
	}
	f.there = there
	return there
}

// more raises the number of bytes that the parent has.
func (f *fetch) more(limit int) {
	f.mu.Lock()
	f.limit = max(f.limit, limit)
	f.mu.Unlock()
	f.pump()
}

// stop cancels the GETs under way. Until all of them have ended, the network may still write to
// the memory of the fetch. Then pump tells the machine that the fetch has ended. f may be nil.
func (f *fetch) stop() {
	if f == nil {
		return
	}
	f.mu.Lock()
	f.status = ETIMEDOUT
	under := slices.Clone(f.under)
	f.mu.Unlock()
	for _, g := range under {
		f.mu.Lock()
		md := g.md
		f.mu.Unlock()
		_ = f.a.table.MDUnlink(md) // ENOENT: the GET has just ended
	}
	f.pump()
}
