package scollsim

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"ulnet/lnd/sim"
	"ulnet/scoll"
	"ulnet/scoll/tree"
	"ulnet/scoll/wire"
)

// The table of docs/collectives.md, "Which node learns what", says for each failure which members
// are missing, and why. Texts in quotes are from there.

// failure is a row of the table that applies to a node.
type failure struct {
	status  scoll.Status // anyStatus: every status
	itself  bool         // the node itself may be missing
	subtree bool         // all nodes below the node may be missing
	must    bool         // the nodes that may be missing have to be missing
}

// anyStatus is the status of failures that can have any.
const anyStatus = scoll.Status(0)

// judgement looks for reasons why members of a broadcast are missing.
type judgement struct {
	*Broadcast
	net      *Net
	tree     tree.Tree
	statuses map[sim.NodeID]scoll.Status // why each missing member is missing
}

// judge is called when a broadcast is over. It returns an error if a member is missing without a reason, or
// is not missing although there is a reason for which it must be.
func (n *Net) judge(b *Broadcast) error {
	j := judgement{Broadcast: b, net: n, tree: n.tree(b), statuses: make(map[sim.NodeID]scoll.Status)}
	for _, m := range b.Missing {
		j.statuses[m.Node] = m.Status
	}
	for rank := range b.Members {
		if err := j.member(rank); err != nil {
			return err
		}
	}
	j.meet()
	return nil
}

// meet records the connections over which answers came.
func (j *judgement) meet() {
	if !j.net.cfg.Stacks {
		return
	}
	for rank, id := range j.Members {
		if _, missing := j.statuses[id]; missing {
			continue
		}
		for above, ok := j.tree.Parent(rank); ok; above, ok = j.tree.Parent(rank) {
			pair := [2]sim.NodeID{j.Members[above], j.Members[rank]}
			if _, ok := j.net.faults.met[pair]; !ok {
				j.net.faults.met[pair] = j.Done
			}
			rank = above
		}
	}
}

// member judges one member.
func (j *judgement) member(rank int) error {
	id := j.Members[rank]
	status, missing := j.statuses[id]
	must, may := j.reasons(rank, status)
	switch {
	case missing && !may:
		return fmt.Errorf("broadcast %s: node %v is missing without a reason: %v", j.name(), id, status)
	case !missing && must:
		return fmt.Errorf("broadcast %s: node %v is not missing, although it cannot answer", j.name(), id)
	}
	return nil
}

// reasons looks for reasons why a member can be missing in a result: failures of the member itself, or of a node
// above it. must: one of them keeps the member out in any case. may: one of them explains why the member is missing
// with the given status.
func (j *judgement) reasons(rank int, status scoll.Status) (must, may bool) {
	for at, ok := rank, true; ok; at, ok = j.tree.Parent(at) {
		for _, f := range j.failures(at) {
			if at == rank && f.itself || at != rank && f.subtree {
				may = may || f.status == anyStatus || errors.Is(status, f.status)
				must = must || f.must
			}
		}
	}
	return must, may
}

// failures lists what was wrong with a node, or with its way to its parent, during a broadcast.
func (j *judgement) failures(rank int) (list []failure) {
	f, id := &j.net.faults, j.Members[rank]
	above, below := j.tree.Parent(rank)
	if j.net.endedGroup(j.Broadcast, id) { // "the group is not known ... nor then, or it has ended", "of an earlier incarnation ... of the group's creator"
		list = append(list, failure{status: scoll.ENOGROUP, itself: true, subtree: true}, failure{status: scoll.EREBOOT, itself: true, subtree: true})
	}
	switch {
	case f.impaired(id, j.Begun), // "discovery says the child died", "the child does not answer in time"
		below && (f.poor(id, j.Members[above], j.Begun) || f.stranger(id, j.Members[above], j.Begun)), // "the request cannot be sent", "the child does not answer in time"
		f.nodes[id].aborted >= j.Begun: // "Abort on a node"
		return []failure{{status: anyStatus, itself: true, subtree: true}}
	}
	if j.net.cfg.Scoll.MaxActive > 0 { // "and no slot for it in time, or more than may be held"
		list = append(list, failure{status: scoll.EBUSY, itself: below, subtree: true})
	}
	if below && j.manyRounds() { // "the child does not answer in time"
		list = append(list, failure{status: scoll.ETIMEDOUT, itself: true, subtree: true}, j.lost())
	}
	if errs := &j.net.oracle.errs; below && errs.heldDead(j.Members[above], id, j.Begun) { // "discovery says the child died"
		list = append(list, failure{status: scoll.EHOSTDOWN, itself: true, subtree: true})
	}
	if below && !j.net.oracle.on() && j.net.oracle.deaths[id] > 0 { // "without discovery also if the request came after the restart"
		list = append(list, failure{status: scoll.EREBOOT, itself: true, subtree: true})
	}
	if j.order.isLive() && j.net.oracle.errs.disagreed(id, j.Root, nodesOf(j.whole), j.Tried) { // "live members differ"
		list = append(list, failure{status: scoll.ESTALE, itself: true, subtree: true})
	}
	if j.net.relisted(j.Broadcast) { // "out-of-band groups differ"
		list = append(list, failure{status: scoll.ESTALE, itself: true, subtree: true})
	}
	did := f.did(id, j.Begun)
	for _, s := range did {
		for _, one := range j.served(rank, s.behaviour) {
			one.must = one.must && len(did) == 1 && !j.order.isLive()
			list = append(list, one)
		}
	}
	return list
}

// manyRounds reports whether T is too short for the round trips of segments: "b has one round
// trip" (docs/collectives.md), and a bare machine fetches one segment after the other.
func (j *judgement) manyRounds() bool {
	segment := time.Duration(j.net.cfg.Segment)
	return segment > 0 && time.Duration(j.order.bulk) > segment && segment*time.Second < j.net.cfg.Scoll.RTT*minBulkRate
}

// served returns how the behaviour of a service fails.
func (j *judgement) served(rank int, s behaviour) []failure {
	if j.Members[rank] == j.Root {
		return j.servedRoot(s)
	}
	status := scoll.ETIMEDOUT // "the service does not reply, or ignores EMSGSIZE of Reply"
	switch s.kind {
	case works:
		return nil
	case rejects: // "PreRequest returns an error": the subtree
		return []failure{{status: scoll.EPERM, itself: true, subtree: true, must: true}}
	case below: // "ReplyBelow": the member, with the status that it gave
		return []failure{{status: scoll.EAGAIN, itself: true, must: true}}
	case aborts: // "Abort on a node": these with all below them, and the node itself
		return []failure{{status: scoll.ECANCELED, itself: true, subtree: true}, j.lost()}
	case fails: // "IncomingRequest returns an error": the member
		status = scoll.EIO
	case slow:
		must, may := j.late(rank, s.delay)
		if !may {
			return nil
		}
		return []failure{{status: status, itself: true, must: must}, j.lost()}
	}
	return []failure{{status: status, itself: true, must: true}, j.lost()}
}

// lost returns the failure of members whose answers may be lost because a member above them does not answer itself,
// and passes answers on: "ELOST for those below whose answers do not fit".
func (j *judgement) lost() failure {
	most := len(j.Members) * (wire.CarriedHeaderSize + entrySize)
	return failure{status: scoll.ELOST, subtree: cmp.Or(j.net.cfg.Carry, wire.DefaultCarry) < most}
}

// late reports whether a service that takes the time delay to reply is too late, so that the module answers in its
// place; must: certainly, may: perhaps. See "Timeouts" in docs/collectives.md. The module's timeout includes an
// estimate for the bulk data; if these come sooner, the service has the rest of that time. If a member below holds the
// request, "T counts from the end of holding".
func (j *judgement) late(rank int, delay time.Duration) (must, may bool) {
	c, depth := &j.net.cfg.Scoll, time.Duration(j.tree.Depth(rank)+1)
	allowed := j.order.processing + c.Guard/2
	if depth > 1 {
		allowed = j.order.processing + (2*depth-2)*(c.RTT+c.Guard)
	}
	must = delay > allowed+depth*j.net.bulkTime(j.Broadcast) && j.net.cfg.Scoll.MaxActive == 0
	return must, delay >= allowed // may, because at the same instant either the service or the module can be first
}

// servedRoot returns how the behaviour of the root's own service fails: "at the root: the root
// itself, with that error".
func (j *judgement) servedRoot(s behaviour) []failure {
	switch s.kind {
	case fails:
		return []failure{{status: scoll.EIO, itself: true, must: true}}
	case stuck, slow: // "the root's own IncomingRequest takes longer than T"
		return []failure{{status: scoll.ETIMEDOUT, itself: s.kind == stuck || s.delay > j.net.treeTime(j.Broadcast)}}
	case aborts:
		return []failure{{status: scoll.ECANCELED, itself: true, subtree: true}}
	}
	return nil
}
