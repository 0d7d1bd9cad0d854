package engine

import (
	"slices"
	"time"

	"ulnet/lnet/selftest/wire"
)

// listTimeout is how long the node waits for a list of destinations, which the console sends from
// its memory. It is short, because other requests wait behind it.
const listTimeout = 10 * time.Second

// framework handles a request of a console at once, unless an earlier request still waits for its
// list of destinations. Then the request waits for its turn, unless overtakes allows it to pass.
func (n *Node) framework(q request) {
	n.restart()
	if n.fetching == nil || n.overtakes(&q) {
		n.handle(&q)
		return
	}
	if len(n.waiting) >= n.cfg.MaxWaiting {
		n.stats.Overload++
		n.drop()
		return
	}
	n.waiting = append(n.waiting, q)
}

// overtakes reports whether a request is handled at once although an earlier request waits for its
// list. That is so for requests that change nothing (DEBUG, STAT), and for those that stop a batch or
// take the node by force, but not if an earlier request of the same node waits.
func (n *Node) overtakes(q *request) bool {
	if slices.ContainsFunc(n.waiting, func(other request) bool { return other.peer == q.peer }) {
		return false
	}
	switch b := q.Body.(type) {
	case *wire.Debug, *wire.Stat:
		return true
	case *wire.Batch:
		return b.Op == wire.StopBatch
	case *wire.MakeSession:
		return b.Force
	}
	return false
}

// fetched adds the test whose list of destinations has arrived. Without the list there is no reply.
func (n *Node) fetched(t *transfer, in *Input) {
	n.fetching = nil
	b := t.of.Body.(*wire.Test)
	if in.Failed {
		n.stats.Errors++
		n.drop()
	} else {
		n.stats.BulkGet += uint64(len(in.Data))
		n.refuse(&t.of, n.addClient(&t.of, b, in.Data))
	}
}

// cancelFetch refuses the request that waits for its list, because its session has ended.
func (n *Node) cancelFetch() {
	t := n.fetching
	if t == nil {
		return
	}
	n.fetching = nil
	delete(n.transfers, t.id)
	n.deadlines.Clear(&t.due)
	n.do(Effect{Kind: DoCancel, ID: t.id})
	n.refuse(&t.of, wire.ENOENT)
}

// next handles the requests that have waited for the one in front.
func (n *Node) next() {
	for n.fetching == nil && len(n.waiting) > 0 {
		q := n.waiting[0]
		n.waiting = slices.Delete(n.waiting, 0, 1)
		n.handle(&q)
	}
}
