package node

import (
	"errors"
	"fmt"
	"sync"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/lnet/udsp"
)

// The operations on selection rules.
var (
	OpUDSP       = control.Question[control.None, UDSP]{Path: "/v1/udsp", Doc: "the selection rules"}
	OpAddUDSP    = control.Action[AddUDSP]{Path: "/v1/udsp/add", Doc: "adds a selection rule"}
	OpRemoveUDSP = control.Action[RemoveUDSP]{Path: "/v1/udsp/del", Doc: "removes selection rules"}
)

// AddUDSP is a selection rule to add.
type AddUDSP struct {
	udsp.Rule
	// Index is the position at which to insert the rule; null, or beyond the end: at the end.
	Index *int `json:"index,omitempty"`
}

// RemoveUDSP selects the selection rules to remove: one, or all.
type RemoveUDSP struct {
	Index int  `json:"index"`         // index of the rule to remove
	All   bool `json:"all,omitempty"` // remove all rules; Index is ignored
}

// UDSP are the selection rules of a node, in their order.
type UDSP struct {
	Rules []udsp.Rule `json:"rules"` // selection rules in the order of their indexes
}

// List returns the rules as a list.
func (u UDSP) List() (l udsp.List, err error) {
	for _, r := range u.Rules {
		if l, err = l.Add(r, -1); err != nil {
			return l, err
		}
	}
	return l, nil
}

// policies are the selection rules that are in force.
type policies struct {
	mu   sync.Mutex
	list udsp.List // selection rules; guarded by mu
}

// startUDSP applies the rules of the configuration. The node may have one of them already: a command may have added it
// since LNet was configured.
func (n *Node) startUDSP() error {
	for _, r := range n.current.Load().UDSP {
		if err := n.AddUDSP(AddUDSP{Rule: r}); err != nil && !errors.Is(err, syscall.EALREADY) {
			return err
		}
	}
	return nil
}

// UDSP returns the selection rules.
func (n *Node) UDSP() UDSP {
	n.policies.mu.Lock()
	defer n.policies.mu.Unlock()
	return UDSP{n.policies.list.Rules()}
}

// changeUDSP replaces the rules by those that change returns. The new rules apply to all NIs,
// peers and routes, both present and later ones.
func (n *Node) changeUDSP(change func(udsp.List) (udsp.List, error)) error {
	n.policies.mu.Lock()
	defer n.policies.mu.Unlock()
	list, err := change(n.policies.list)
	if err != nil {
		return err
	}
	n.policies.list = list
	if list.IsEmpty() {
		n.lnet.SetRules(nil)
	} else {
		n.lnet.SetRules(list)
	}
	return nil
}

// AddUDSP adds a selection rule, or changes the priority of the one with the same patterns.
// EINVAL: the patterns do not fit together. EALREADY: the rule exists. ENOSPC: there are too
// many rules. ENETDOWN: LNet is down.
func (n *Node) AddUDSP(r AddUDSP) error {
	index := -1
	if r.Index != nil {
		if index = *r.Index; index < 0 {
			return fmt.Errorf("index %d: want 0 or more: %w", index, syscall.EINVAL)
		}
	}
	err := n.changeUDSP(func(l udsp.List) (udsp.List, error) {
		if err := n.checkConfigured(syscall.ENETDOWN); err != nil {
			return l, err
		}
		return l.Add(r.Rule, index)
	})
	if errors.Is(err, syscall.ENETDOWN) {
		return err
	}
	if err != nil {
		return cli.Hint(fmt.Errorf("cannot add udsp: %w", err), "'lnetctl udsp show' lists the rules")
	}
	return nil
}

// RemoveUDSP removes selection rules. ENOENT: there is no rule with this index.
func (n *Node) RemoveUDSP(r RemoveUDSP) error {
	err := n.changeUDSP(func(l udsp.List) (udsp.List, error) {
		if r.All {
			return udsp.List{}, nil
		}
		return l.Remove(r.Index)
	})
	if err != nil {
		return cli.Hint(fmt.Errorf("cannot del udsp: %w", err), "'lnetctl udsp show' lists the rules")
	}
	return nil
}
