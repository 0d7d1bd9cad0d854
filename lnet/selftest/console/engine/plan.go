package engine

import (
	"syscall"

	"ulnet/lnet/selftest/wire"
)

// Bounds of tests (selftest §7 and §14).
const (
	word           = 8       // lengths and offsets must be multiples of this, in bytes, because a kernel server fills bulk data in such units
	mostLength     = 1 << 20 // longest bulk data
	mostDistribute = 1 << 16 // largest value of Distribute; more are not needed: with the default MaxNodes no group has so many clients
	pageSize       = 4096    // a page of tests without the feature BULK_LEN
)

// pageSizes are the page sizes of kernel nodes.
var pageSizes = [...]uint32{1 << 12, 1 << 14, 1 << 16}

// check refuses tests that no node can run, and those that would crash a kernel node.
func (t *Test) check(features wire.Features) error {
	switch {
	case t.Loop == 0:
		return fail(syscall.EINVAL, "use a number from 1 on, or -1", "the loop of a test is 0")
	case t.Concurrency < 1 || t.Concurrency > mostConcurrent:
		return fail(syscall.EINVAL, "use 1 to 1024", "the concurrency of a test is %d", t.Concurrency)
	case t.Distribute < 1 || t.Distribute > mostDistribute || t.Span < 1:
		return fail(syscall.EINVAL, "use two numbers from 1 on, as 1:1", "the distribution of a test is %d:%d", t.Distribute, t.Span)
	case t.Span > wire.MaxDestinations:
		return fail(syscall.EINVAL, "use 341 at most, because of a longer list nodes get only a part", "each client shall have %d servers", t.Span)
	case t.Service == wire.PingService:
		return nil
	case t.Service == wire.BRWService:
		return t.checkBRW(features)
	}
	return fail(syscall.EINVAL, "use brw or ping", "there is no test of %v", t.Service)
}

// checkBRW refuses bulk data that a kernel's client or server does not survive: lengths and
// offsets that are no multiple of 8, and offsets with which the data reach into more pages than
// their length says (selftest §14).
func (t *Test) checkBRW(features wire.Features) error {
	p := &t.BRW
	switch {
	case p.Op != wire.Read && p.Op != wire.Write:
		return fail(syscall.EINVAL, "use read or write", "a BRW test cannot do %v", p.Op)
	case p.Check < wire.CheckNone || p.Check > wire.CheckDiscard:
		return fail(syscall.EINVAL, "use none, simple or full", "a BRW test cannot check %v", p.Check)
	case p.Length == 0 || p.Length > mostLength || p.Length%word != 0:
		return fail(syscall.EINVAL, "use a multiple of 8 up to 1 MiB: kernel nodes crash at others", "the size of a BRW test is %d bytes", p.Length)
	case p.Offset%word != 0 || p.Offset > 1<<31-1:
		return fail(syscall.EINVAL, "use a multiple of 8: kernel nodes crash at others", "the offset of a BRW test is %d bytes", p.Offset)
	case features&wire.BulkLength == 0 && (p.Length%pageSize != 0 || p.Offset != 0):
		return fail(syscall.EINVAL, "use whole pages of 4096 bytes and no offset", "without the feature BULK_LEN a BRW test cannot have %d bytes at offset %d", p.Length, p.Offset)
	}
	for _, page := range pageSizes {
		if in := p.Offset % page; in+p.Length > (p.Length+page-1)/page*page {
			return fail(syscall.EINVAL, "use a size that leaves room for the offset in its last page: kernel clients crash at others",
				"%d bytes at offset %d reach into one page of %d bytes more than %d bytes need", p.Length, p.Offset, page, p.Length)
		}
	}
	return nil
}

// request returns a TEST request with the fields that are the same for servers and clients.
func (t *Test) request(s *session, b *batch) wire.Test {
	r := wire.Test{Session: s.id, Batch: b.id, Service: t.Service, Concurrency: uint32(t.Concurrency), StopOnError: true}
	if t.Service == wire.BRWService {
		r.BRW = wire.BRWParams{Op: t.BRW.Op, Check: t.BRW.Check, Length: t.BRW.Length}
		if s.features&wire.BulkLength == 0 {
			r.BRW.Pages = t.BRW.Length / pageSize
		}
	}
	return r
}

// buffers returns how many buffers a server needs: those for the requests that its clients can
// have under way at one time (selftest §10).
func (t *test) buffers() int32 {
	clients, servers := up(len(t.from.nodes), t.Distribute), up(len(t.to.nodes), t.Span)
	return int32(up(clients, servers) * t.Distribute * t.Concurrency)
}

// up divides and rounds up.
func up(a, b int) int { return (a + b - 1) / b }

// destinations returns the list of servers of the client with an index. Clients take the servers in
// turn, Span at a time, and begin anew after the last one; Distribute clients in a row get the same
// servers (selftest §10).
func (t *test) destinations(client int) []byte {
	servers := t.to.nodes
	start := client / t.Distribute * t.Span % len(servers)
	list := make([]wire.Destination, t.Span)
	for i := range list {
		list[i] = servers[(start+i)%len(servers)].id
	}
	b, _ := wire.AppendDestinations(make([]byte, 0, t.Span*wire.DestinationSize), list, false) // cannot fail: checkIDs has accepted these NIDs
	return b
}
