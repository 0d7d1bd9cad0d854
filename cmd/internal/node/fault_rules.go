package node

import (
	"fmt"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet/faultrule"
	"ulnet/lnet/nid"
)

// AddFaultRule has a drop or delay rule of LNet to add, before all other rules of its kind.
type AddFaultRule struct {
	Kind faultrule.Kind `json:"kind"` // kind of the rule: drop or delay
	faultrule.Attr
}

// RemoveFaultRules selects the drop or delay rules to remove: those with this source and
// destination.
type RemoveFaultRules struct {
	Kind   faultrule.Kind `json:"kind"`   // kind of the rules: drop or delay
	Source nid.NID        `json:"source"` // source of the rules to remove; the wildcard: any
	Dest   nid.NID        `json:"dest"`   // destination of the rules to remove; the wildcard: any
	// Cancel discards the messages that the rules are delaying; outgoing ones end with ECANCELED.
	// Otherwise these messages go on at once.
	Cancel bool `json:"cancel,omitempty"`
}

// RemovedFaultRules is the answer to RemoveFaultRules.
type RemovedFaultRules struct {
	Count int `json:"count"` // number of rules that were removed
}

// ResetFaultRules selects the drop or the delay rules, whose counters are cleared.
type ResetFaultRules struct {
	Kind faultrule.Kind `json:"kind"` // kind of the rules: drop or delay
}

// AddFaultRule adds a drop or delay rule. EINVAL: the attributes do not fit together.
// ENOSPC: there are too many rules.
func (n *Node) AddFaultRule(r AddFaultRule) error {
	if err := n.plan.AddRule(r.Kind, r.Attr); err != nil {
		return cli.Hint(fmt.Errorf("failed to add %v rule: %w", r.Kind, err), "'lnetctl fault %v add --help' lists what a rule has, 'lnetctl fault %v del' removes some", r.Kind, r.Kind)
	}
	n.warnOf(fmt.Sprintf("%v rule from %s to %s", r.Kind, faultrule.FormatNID(r.Source), faultrule.FormatNID(r.Dest)))
	return nil
}

// RemoveFaultRules removes drop or delay rules. ENOENT: there is no rule with this source and
// destination. EINVAL: the source or the destination is no NID.
func (n *Node) RemoveFaultRules(r RemoveFaultRules) (RemovedFaultRules, error) {
	if !r.Source.IsValid() || !r.Dest.IsValid() {
		return RemovedFaultRules{}, fmt.Errorf("source and destination: want a NID, *@NET or *: %w", syscall.EINVAL)
	}
	count := n.plan.RemoveRules(r.Kind, r.Source, r.Dest, r.Cancel)
	if count == 0 {
		err := cli.Errnof(syscall.ENOENT, "failed to delete %v rule: there is none from %s to %s", r.Kind, faultrule.FormatNID(r.Source), faultrule.FormatNID(r.Dest))
		return RemovedFaultRules{}, cli.Hint(err, "'lnetctl fault %v show' lists them", r.Kind)
	}
	n.cfg.Log.Info("fault rules removed", "kind", r.Kind.String(), "count", count)
	return RemovedFaultRules{count}, nil
}

// ResetFaultRules clears the counters of drop or delay rules, and draws anew which messages
// they hit next.
func (n *Node) ResetFaultRules(r ResetFaultRules) error {
	n.plan.ResetRules(r.Kind)
	return nil
}
