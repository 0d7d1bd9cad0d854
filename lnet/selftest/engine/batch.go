package engine

import (
	"slices"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
)

// batch is a set of tests that run together.
type batch struct {
	id    uint64
	tests []*test
}

// test is a test of a batch, for which this node is a client or a server. The test of a server has
// no effect: nodes serve the RPCs of tests whether or not they have the test.
type test struct {
	session     *session
	client      bool
	service     wire.Service
	features    wire.Features
	params      wire.BRWParams
	loop        int32
	stopOnError bool // a unit stops at its first failure
	stopping    bool
	units       []*unit
	running     int    // number of units that run
	sequence    uint32 // number of the next PING request
}

// active returns the number of tests that run.
func (b *batch) active() (count uint32) {
	for _, t := range b.tests {
		if t.running > 0 {
			count++
		}
	}
	return count
}

func (s *session) find(id uint64) *batch {
	if i := slices.IndexFunc(s.batches, func(b *batch) bool { return b.id == id }); i >= 0 {
		return s.batches[i]
	}
	return nil
}

// batch runs, stops or queries a batch. An unknown operation gets no reply.
func (n *Node) batch(q *request, b *wire.Batch) {
	s := n.session
	if s == nil || s.id != b.Session {
		n.refuse(q, wire.ESRCH)
		return
	}
	found := s.find(b.Batch)
	if found == nil {
		n.refuse(q, wire.ENOENT)
		return
	}
	switch b.Op {
	case wire.RunBatch:
		n.run(found)
		n.refuse(q, wire.OK)
	case wire.StopBatch:
		n.stop(found, b.Argument != 0)
		n.refuse(q, wire.OK)
	case wire.QueryBatch:
		n.query(q, found, b.Test)
	default:
		n.drop()
	}
}

func (n *Node) query(q *request, b *batch, number int32) {
	active := b.active()
	switch {
	case number < 0:
		n.refuse(q, wire.EINVAL)
		return
	case int(number) > len(b.tests):
		n.refuse(q, wire.ENOENT)
		return
	case number > 0:
		active = uint32(b.tests[number-1].running)
	}
	n.reply(q, wire.OK, &wire.BatchReply{Session: n.session.id, Active: active})
}

// test adds a test to a batch. A client gets the list of its destinations first.
func (n *Node) test(q *request, b *wire.Test) {
	if status := n.judgeTest(b); status != wire.OK {
		n.refuse(q, status)
		return
	}
	if !b.Client {
		n.refuse(q, n.add(q, b, nil))
		return
	}
	t := n.begin(q, int(b.Destinations)*wire.DestinationSize, listTimeout)
	t.list, n.fetching = true, t
	n.do(Effect{
		Kind: DoGet, ID: t.id, Peer: q.peer, Self: q.self, Bits: b.BulkID, Length: t.length, Check: wire.CheckNone, BigEndian: q.BigEndian, List: true,
	})
}

// judgeTest returns the status with which a request is refused (selftest §6), or OK.
func (n *Node) judgeTest(b *wire.Test) wire.Status {
	const mostConcurrency, mostDestinations = 1024, 256 * wire.MaxDestinations
	s := n.session
	switch {
	case b.Loop == 0, b.Concurrency == 0 || b.Concurrency > mostConcurrency, b.Destinations > mostDestinations,
		b.Client && b.Destinations == 0, b.Service != wire.BRWService && b.Service != wire.PingService, b.Session.Console.IsAny():
		return wire.EINVAL
	case s == nil || s.id != b.Session:
		return wire.ENOENT
	}
	if found := s.find(b.Batch); found != nil && found.active() > 0 {
		return wire.EBUSY
	} else if found == nil && len(s.batches) >= n.cfg.MaxBatches {
		return wire.ENOMEM
	}
	units := uint64(0)
	if b.Client {
		units = uint64(b.Destinations) * uint64(b.Concurrency)
	}
	if s.tests >= n.cfg.MaxTests || uint64(s.units)+units > uint64(n.cfg.MaxUnits) {
		return wire.ENOMEM
	}
	return wire.OK
}

// addClient adds a test with this node as client, when its list of destinations has arrived in data. It returns the
// status of the reply, for example that the session has ended in the meantime.
func (n *Node) addClient(q *request, b *wire.Test, data []byte) wire.Status {
	if status := n.judgeTest(b); status != wire.OK {
		return status
	}
	list, err := wire.ParseDestinations(data, int(b.Destinations), q.BigEndian)
	if err != nil || len(list) == 0 {
		return wire.EINVAL
	}
	for _, d := range list {
		// Without a PID the match entry for the answer would match any process, and such an entry can keep
		// entries for one process off a portal.
		if d.PID == 0 || d.PID == nid.PIDAny {
			return wire.EINVAL
		}
		if !n.cfg.Allow(d.NID) {
			n.stats.NotAllowed++
			return wire.EPERM
		}
	}
	if b.Service == wire.BRWService && !validParams(&b.BRW, q.Features) {
		return wire.EINVAL
	}
	return n.add(q, b, list)
}

// validParams reports whether a test has parameters that no server refuses and that crash no
// kernel server (selftest §14).
func validParams(p *wire.BRWParams, features wire.Features) bool {
	length := bulkLength(p, features)
	return (p.Op == wire.Read || p.Op == wire.Write) && p.Check >= wire.CheckNone && p.Check <= wire.CheckDiscard &&
		p.Offset%word == 0 && length > 0 && length <= MaxLength && length%word == 0
}

// bulkLength returns the length of a test's bulk data in bytes.
func bulkLength(p *wire.BRWParams, features wire.Features) uint64 {
	if features&wire.BulkLength == 0 {
		return uint64(p.Pages) * pageSize
	}
	return uint64(p.Length)
}

// add adds a test to its batch, and makes the batch if there is none with that number.
func (n *Node) add(q *request, b *wire.Test, list []wire.Destination) wire.Status {
	s := n.session
	found := s.find(b.Batch)
	if found == nil {
		found = &batch{id: b.Batch}
		s.batches = append(s.batches, found)
	}
	t := &test{session: s, client: b.Client, service: b.Service, features: q.Features, params: b.BRW, loop: b.Loop, stopOnError: b.StopOnError}
	for _, d := range list {
		for range b.Concurrency {
			t.units = append(t.units, &unit{test: t, dest: nid.ProcessID(d)})
		}
	}
	found.tests = append(found.tests, t)
	s.tests++
	s.units += len(t.units)
	return wire.OK
}

// run starts all units of a batch, unless some of them run already.
func (n *Node) run(b *batch) {
	if b.active() > 0 {
		return
	}
	for _, t := range b.tests {
		t.stopping = false
		t.running = len(t.units)
	}
	for _, t := range b.tests {
		for _, u := range t.units {
			u.loop = t.loop
			u.running, u.failed = true, 0
			n.queue(u)
		}
	}
}

// stop stops the units of a batch after their current RPCs, or, with force, aborts these.
func (n *Node) stop(b *batch, force bool) {
	for _, t := range b.tests {
		if t.running == 0 {
			continue
		}
		t.stopping = true
		for _, u := range t.units {
			switch {
			case !u.running:
			case u.call != nil && force:
				n.abort(u.call)
				n.halt(u)
			case u.call == nil: // the unit waits, for memory or after a failure
				n.halt(u)
			}
		}
	}
	n.leave()
}
