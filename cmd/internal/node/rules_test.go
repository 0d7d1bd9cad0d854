package node_test

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
	"ulnet/lnet/faultrule"
	"ulnet/lnet/nid"
	"ulnet/lnet/udsp"
)

// TestFaultRulesRefused: the node itself refuses impossible rules, even if the tool did not
// check them, with a hint and without changing anything.
func TestFaultRulesRefused(t *testing.T) {
	n := newNode(t)
	all := faultrule.Attr{Source: nid.Any(), Dest: nid.Any(), Rate: 1}
	for name, change := range map[string]func(*node.AddFaultRule){
		"no source":              func(r *node.AddFaultRule) { r.Source = nid.NID{} },
		"rate and interval":      func(r *node.AddFaultRule) { r.Interval = time.Second },
		"neither":                func(r *node.AddFaultRule) { r.Rate = 0 },
		"a class there is not":   func(r *node.AddFaultRule) { r.Classes = 1 << 15 },
		"a delay without one":    func(r *node.AddFaultRule) { r.Kind = faultrule.Delay },
		"a negative latency":     func(r *node.AddFaultRule) { r.Kind, r.Latency = faultrule.Delay, -time.Second },
		"an interval of nothing": func(r *node.AddFaultRule) { r.Rate, r.Interval = 0, time.Nanosecond },
	} {
		r := node.AddFaultRule{Attr: all}
		change(&r)
		if err := n.AddFaultRule(r); !errors.Is(err, syscall.EINVAL) || cli.HintOf(err) == "" {
			t.Errorf("%s: %v, hint %q", name, err, cli.HintOf(err))
		}
	}
	for _, r := range []node.RemoveFaultRules{{}, {Source: nid.Any()}, {Dest: nid.Any()}} {
		if _, err := n.RemoveFaultRules(r); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if _, err := n.RemoveFaultRules(node.RemoveFaultRules{Source: nid.Any(), Dest: nid.Any()}); !errors.Is(err, syscall.ENOENT) || cli.HintOf(err) == "" {
		t.Errorf("no rule: %v", err)
	}
	if f := n.Status().Faults; f.Active() {
		t.Errorf("faults %+v", f)
	}
}

// TestFaultRules: a rule shows in the status, until it is removed.
func TestFaultRules(t *testing.T) {
	n := newNode(t)
	for _, k := range []faultrule.Kind{faultrule.Drop, faultrule.Delay} {
		r := node.AddFaultRule{Kind: k, Attr: faultrule.Attr{Source: self.NID, Dest: nid.Any(), Rate: 1 << 20}}
		if k == faultrule.Delay {
			r.Latency = time.Second
		}
		if err := n.AddFaultRule(r); err != nil {
			t.Fatal(err)
		}
		f := n.Status().Faults
		if !f.Active() || len(f.Plan.Drop)+len(f.Plan.Delay) != 1 {
			t.Errorf("%v: %+v", k, f.Plan)
		}
		if err := n.ResetFaultRules(node.ResetFaultRules{Kind: k}); err != nil {
			t.Error(err)
		}
		removed, err := n.RemoveFaultRules(node.RemoveFaultRules{Kind: k, Source: self.NID, Dest: nid.Any(), Cancel: true})
		if f = n.Status().Faults; err != nil || removed.Count != 1 || f.Active() {
			t.Errorf("%v: removed %+v, %v", k, removed, err)
		}
	}
}

// TestUDSP: rules are kept in order, and impossible ones are refused with a hint.
func TestUDSP(t *testing.T) {
	n := newNode(t)
	rule := func(src, dst string) (r udsp.Rule) {
		var err error
		if r.Src, err = udsp.ParsePattern(src); err == nil {
			r.Dst, err = udsp.ParsePattern(dst)
		}
		if err != nil {
			t.Fatal(err)
		}
		r.Priority = 7
		if src != "" && dst != "" {
			r.Priority = 0
		}
		return r
	}
	for i, r := range []node.AddUDSP{{Rule: rule("tcp", "")}, {Rule: rule("", "tcp1")}, {Rule: rule("tcp", "tcp1"), Index: new(0)}} {
		if err := n.AddUDSP(r); err != nil {
			t.Fatal(i, err)
		}
	}
	if rules := n.UDSP().Rules; len(rules) != 3 || rules[0].Dst.String() != "tcp1" || rules[0].Src.String() != "tcp" {
		t.Errorf("%+v", rules)
	}
	for name, err := range map[string]error{
		"no pattern":       n.AddUDSP(node.AddUDSP{}),
		"a negative index": n.AddUDSP(node.AddUDSP{Rule: rule("tcp7", ""), Index: new(-1)}),
	} {
		if !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := n.AddUDSP(node.AddUDSP{Rule: rule("tcp", "")}); !errors.Is(err, syscall.EALREADY) || cli.HintOf(err) == "" {
		t.Errorf("the same: %v", err)
	}
	for _, i := range []int{-1, 3} {
		if err := n.RemoveUDSP(node.RemoveUDSP{Index: i}); !errors.Is(err, syscall.ENOENT) || cli.HintOf(err) == "" {
			t.Errorf("rule %d: %v", i, err)
		}
	}
	if err := errors.Join(n.RemoveUDSP(node.RemoveUDSP{Index: 1}), n.RemoveUDSP(node.RemoveUDSP{All: true})); err != nil || len(n.UDSP().Rules) != 0 {
		t.Errorf("%v, %d left", err, len(n.UDSP().Rules))
	}
}
