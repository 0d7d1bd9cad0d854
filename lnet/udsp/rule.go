package udsp

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"ulnet/lnet/nid"
	"ulnet/lnet/path"
)

// Rule is one selection rule (struct lnet_udsp).
type Rule struct {
	Src Pattern `json:"src,omitzero"` // pattern of NIs of this node
	Dst Pattern `json:"dst,omitzero"` // pattern of NIs of other nodes
	Rte Pattern `json:"rte,omitzero"` // pattern of NIs of routers
	// Priority is the value of a rule with one pattern; 0 is the best. Rules with two
	// patterns have no priority.
	Priority path.Priority `json:"priority"`
}

// maxRules bounds the number of rules in a list.
const maxRules = 1024

// prefers reports whether the rule has two patterns.
func (r *Rule) prefers() bool { return r.Dst.IsValid() && (r.Src.IsValid() || r.Rte.IsValid()) }

// Validate returns what is wrong with a rule. It wraps EINVAL.
func (r *Rule) Validate() error {
	wrong := ""
	switch src, dst, rte := r.Src.IsValid(), r.Dst.IsValid(), r.Rte.IsValid(); {
	case src && dst && rte:
		wrong = "the combination of src, dst and rte is not supported: want dst with src, or dst with rte"
	case src && rte:
		wrong = "src and rte cannot be combined: want dst with one of them"
	case !src && !dst && !rte:
		wrong = "no pattern: want src, dst or rte"
	case r.prefers() && r.Priority != 0:
		wrong = "a rule with two patterns prefers one for the other, and has no priority"
	case r.Priority == path.NoPriority:
		wrong = fmt.Sprintf("priority: want 0 to %d", path.NoPriority-1)
	}
	if wrong == "" {
		return nil
	}
	return fmt.Errorf("%s: %w", wrong, syscall.EINVAL)
}

// like reports whether r and o have equal patterns.
func (r *Rule) like(o *Rule) bool {
	return r.Src.Equal(o.Src) && r.Dst.Equal(o.Dst) && r.Rte.Equal(o.Rte)
}

// List is an ordered list of rules. The zero value has none.
type List struct{ rules []Rule }

// Rules returns the rules in order.
func (l List) Rules() []Rule { return slices.Clone(l.rules) }

// IsEmpty reports whether there is no rule.
func (l List) IsEmpty() bool { return len(l.rules) == 0 }

// Add returns the list with a rule at an index; a negative index, or one beyond the end, is
// the end. A rule whose patterns the list has already stays where it is and gets the new
// priority. Errors: EINVAL see [Rule.Validate], EALREADY the rule is there, ENOSPC there are
// 1024 rules.
func (l List) Add(r Rule, index int) (List, error) {
	if err := r.Validate(); err != nil {
		return l, err
	}
	rules := slices.Clone(l.rules)
	if i := slices.IndexFunc(rules, func(o Rule) bool { return r.like(&o) }); i >= 0 {
		if rules[i].Priority == r.Priority {
			return l, fmt.Errorf("rule %d is the same: %w", i, syscall.EALREADY)
		}
		rules[i].Priority = r.Priority
		return List{rules}, nil
	}
	if len(rules) >= maxRules {
		return l, fmt.Errorf("there are %d rules: %w", maxRules, syscall.ENOSPC)
	}
	if index < 0 || index > len(rules) {
		index = len(rules)
	}
	return List{slices.Insert(rules, index, r)}, nil
}

// errNone says that a list has no rule with an index.
var errNone = errors.New("there is no such rule")

// Remove returns the list without the rule at an index. ENOENT: there is none.
func (l List) Remove(index int) (List, error) {
	if index < 0 || index >= len(l.rules) {
		return l, fmt.Errorf("%w: index %d of %d rules: %w", errNone, index, len(l.rules), syscall.ENOENT)
	}
	return List{slices.Delete(slices.Clone(l.rules), index, index+1)}, nil
}

// Local is the priority of an NI of this node, and of its net.
func (l List) Local(id nid.NID) (ni, net path.Priority) {
	ni, net = path.NoPriority, path.NoPriority
	for i := range l.rules {
		if r := &l.rules[i]; r.Src.Has(id) && !r.prefers() {
			settle(r, r.Src, &ni, &net)
		}
	}
	return ni, net
}

// Remote is the priority of an NI of another node, and of its net, and what is preferred
// for messages to it, nil for nothing.
func (l List) Remote(id nid.NID) (ni, net path.Priority, prefers *path.Preference) {
	ni, net = path.NoPriority, path.NoPriority
	for i := range l.rules {
		switch r := &l.rules[i]; {
		case r.Dst.Has(id) && r.prefers():
			if prefers == nil {
				prefers = new(path.Preference)
			}
			if r.Src.IsValid() {
				prefers.Locals = append(prefers.Locals, r.Src.set)
			} else {
				prefers.Routers = append(prefers.Routers, r.Rte.set)
			}
		case r.Dst.Has(id):
			settle(r, r.Dst, &ni, &net)
		case r.Rte.Has(id) && !r.prefers():
			settle(r, r.Rte, &ni, &net)
		}
	}
	return ni, net, prefers
}

// settle sets the priority that a rule gives, unless an earlier rule has set it.
func settle(r *Rule, by Pattern, ni, net *path.Priority) {
	to := ni
	if by.IsNet() {
		to = net
	}
	if *to == path.NoPriority {
		*to = r.Priority
	}
}
