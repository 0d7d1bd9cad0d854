package fault

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/link"
	"ulnet/lnet/faultrule"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// AddRule adds a drop or delay rule of LNet. EINVAL: the attributes do not fit together.
// ENOSPC: there are too many rules of this kind.
func (p *Plan) AddRule(k faultrule.Kind, a faultrule.Attr) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.lnet.Add(p.cfg.Clock.Now(), k, a)
	p.settle()
	return err
}

// RemoveRules removes the drop or delay rules of LNet with this source and destination, and
// returns how many there were. A wildcard stands for all. Messages that wait because of such a
// rule go on at once. With cancel they do not: those that are sent fail with ECANCELED, and
// those that have arrived are dropped.
func (p *Plan) RemoveRules(k faultrule.Kind, source, dest nid.NID, cancel bool) int {
	p.mu.Lock()
	ids := p.lnet.Remove(k, source, dest)
	var left []item
	for _, ni := range p.nis {
		left = append(left, ni.freeFrom(ids, cancel)...)
	}
	p.settle()
	p.mu.Unlock()
	for i := range left {
		left[i].cancel()
	}
	return len(ids)
}

// ResetRules clears the counters of LNet's rules of a kind, and draws anew which messages
// they hit next.
func (p *Plan) ResetRules(k faultrule.Kind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lnet.Reset(p.cfg.Clock.Now(), k)
}

// freeFrom ends the wait of the messages that one of these rules holds back. With cancel it removes
// them from the queue and returns them. The caller holds plan.mu.
func (ni *netIf) freeFrom(rules []faultrule.ID, cancel bool) (left []item) {
	now := ni.plan.cfg.Clock.Now()
	for _, class := range [...]*items{&ni.kept.urgent, &ni.kept.normal} {
		for i := range *class {
			if it := &(*class)[i]; slices.Contains(rules, it.rule) {
				it.due = min(it.due, now)
			}
		}
		if cancel {
			*class = slices.DeleteFunc(*class, func(i item) bool {
				gone := slices.Contains(rules, i.rule)
				if gone {
					i.leave()
					left = append(left, i)
				}
				return gone
			})
		}
		heap.Init(class)
	}
	slices.SortFunc(left, func(a, b item) int { return cmp.Compare(a.seq, b.seq) })
	ni.arm()
	return left
}

// cancel ends a message whose delay rule has been removed.
func (i *item) cancel() {
	if i.m != nil {
		(*upward)(i.ni).Finalize(i.m, syscall.ECANCELED)
		return
	}
	i.a.discard()
	if i.ni.rules != nil {
		_ = i.ni.rules.DropByRule(&i.a.d) // an error means that the NI ends, so that nothing counts the drop
	}
}

// ruleDropper is an NI of lnet. For a message that a drop rule discards, the wrapper calls
// DropByRule in place of lnd.Upcalls.Parse, so that lnet counts the message.
type ruleDropper interface {
	DropByRule(*lnd.Delivery) error
}

// ruleLeaving applies LNet's fault rules to a message that leaves. It adds to f the time that the
// message has to wait, and returns the delay rule and the error that the message has to end
// with. As in the kernel, messages by lo do not fail, and neither do datagrams, which have no
// peer whose health could fall. The caller holds plan.mu.
func (ni *netIf) ruleLeaving(m *lnd.Message, f *link.Outcome, now time.Duration) (rule faultrule.ID, failure error) {
	if f.Lost {
		return 0, nil
	}
	p := ni.plan
	rule = p.ruleWaiting(&m.Header, f, now)
	if ni.isLo || m.Group != 0 {
		return rule, nil
	}
	class := p.lnet.Leaves(now, &m.Header, ni.nid)
	if class == lnd.FailureNone {
		return rule, nil
	}
	f.Copies = 1 // no second copy, because a message that fails does not reach the wire
	return rule, failureOf(class)
}

// ruleWaiting applies LNet's delay rules to a message, and adds to f how long the message has to
// wait. The caller holds mu.
func (p *Plan) ruleWaiting(h *wire.Header, f *link.Outcome, now time.Duration) faultrule.ID {
	if f.Lost {
		return 0
	}
	rule, wait := p.lnet.Waits(now, h)
	f.Delays[0] += wait
	return rule
}

// failureOf is the error of a message that fails on purpose.
func failureOf(c lnd.Failure) error {
	return lnd.Failed(c, fmt.Errorf("%v on purpose: %w", c, syscall.EIO))
}
