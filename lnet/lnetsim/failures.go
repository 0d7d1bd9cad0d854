package lnetsim

import (
	"fmt"

	"ulnet/lnd/sim/scenario"
)

// failures counts the operations that have failed, by initiator and target.
type failures map[pair]failure

type failure struct {
	count int
	first string // what happened to the first of them
}

// failed notes that the operation o failed with err.
func (n *network) failed(o *operation, err error) {
	m := o.member
	n.stats.Failed++
	n.failures.add(pair{m.stack.Host.ID(), o.to}, fmt.Sprintf("begun at %v, failed at %v: %v", o.began, m.now(), err))
	n.unprobed(o, err)
}

// add counts an operation that has failed.
func (f failures) add(p pair, why string) {
	at := f[p]
	if at.count++; at.count == 1 {
		at.first = why
	}
	f[p] = at
}

// failedAtMost is the condition "failed-operations".
func (n *network) failedAtMost(args scenario.Args) (bool, string) {
	p := pair{args.Node(1), args.Node(2)}
	at := n.failures[p]
	return at.count <= args.Int(0), fmt.Sprintf("%d operations from node %v to %v have failed; the first: %s", at.count, p.from, p.to, at.first)
}
