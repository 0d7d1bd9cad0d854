package engine

import (
	"slices"
	"syscall"

	"ulnet/lnet/selftest/wire"
)

// doubt says that the console does not know how many tests of a batch a node has. A node numbers the
// tests of a batch from 1 on, as it gets them, and a query of a test must have the node's number.
// Before the console needs a number, it finds out how many tests the node has: the node refuses a
// query of a test that it does not have with ENOENT (selftest §6).
type doubt struct {
	test   *test // the test whose request had no answer; nil: none
	client int   // index of the node in test.from, if the request was for a client; -1: for a server
	anew   bool  // the node has been asked to make the session again, which it may have lost with its tests
	number int32 // settle asks the node next about the test with this number, in the node's own numbering
}

// doubtAnswers notes the nodes that have not answered a TEST request. clients: the request was for
// clients of the test; false: for servers.
func (b *batch) doubtAnswers(t *test, nodes []*node, answers []Answer, clients bool) {
	for i, n := range nodes {
		if answers[i].Failed == 0 {
			continue
		}
		d := b.doubt(n)
		if d.test, d.client = t, -1; clients {
			d.client = i
		}
	}
}

// doubtSession notes that a node to which tests were added gets another request to make the session: it may have lost
// these tests.
func (s *session) doubtSession(n *node) {
	for _, b := range s.batches {
		if b.added[n] > 0 {
			b.doubt(n).anew = true
		}
	}
}

func (b *batch) doubt(n *node) *doubt {
	if b.doubts == nil {
		b.doubts = map[*node]*doubt{}
	}
	if b.doubts[n] == nil {
		b.doubts[n] = &doubt{client: -1}
	}
	return b.doubts[n]
}

// settle asks those of the given nodes that have an entry in b.doubts which tests they have. When they have answered
// or were given up, it calls the function then. Their answers are no part of o's result.
func (c *Console) settle(o *operation, s *session, b *batch, nodes []*node, then func()) {
	var list []*node
	for _, n := range nodes {
		if d := b.doubts[n]; d != nil && !slices.Contains(list, n) {
			list = append(list, n)
			if d.number = b.added[n]; d.test != nil {
				d.number++
			}
		}
	}
	if len(list) == 0 {
		then()
		return
	}
	c.ask(&transaction{
		of: o, service: wire.BatchService, nodes: list, wait: mostWait,
		request: func(i int) (wire.Body, []byte) {
			request := &wire.Batch{Session: s.id, Batch: b.id, Op: wire.QueryBatch}
			if d := b.doubts[list[i]]; d != nil {
				request.Test = d.number
			}
			return request, nil
		},
		take: func(_ *Answer, n *node, m *wire.Message) (again bool) { return b.settled(n, m.Status) },
		then: func() {
			o.result.Answers = nil
			then()
		},
	})
}

// settled takes the answer of a node to a query of one test, and returns true if the node has to
// be asked about another test.
func (b *batch) settled(n *node, status wire.Status) (again bool) {
	d, added := b.doubts[n], b.added[n]
	switch {
	case d == nil: // another command has settled the doubt
		return false
	case status == wire.OK && d.number > added:
		if b.added[n] = d.number; d.client >= 0 {
			d.test.numbers[d.client] = d.number
		}
	case status == wire.OK:
	case status != wire.ENOENT:
		return false
	case d.number > added && d.anew && added > 0:
		d.number = added
		return true
	case d.number <= added:
		b.forget(n)
	}
	delete(b.doubts, n)
	return false
}

// forget notes that a node has lost the tests of the batch.
func (b *batch) forget(n *node) {
	b.added[n] = 0
	for _, t := range b.tests {
		if i := slices.Index(t.from.nodes, n); i >= 0 {
			t.numbers[i] = 0
		}
	}
}

// undecided returns an error if one of the nodes still has an entry in b.doubts.
func (b *batch) undecided(nodes []*node) error {
	for _, n := range nodes {
		if b.doubts[n] != nil {
			return fail(syscall.ENETDOWN, "see whether it answers (lst ping), or use a new batch", "node %v has not said which tests of batch %s it has", n.id.NID, b.name)
		}
	}
	return nil
}
