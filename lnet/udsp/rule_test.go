package udsp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/path"
)

// rule parses "src tcp dst 10.0.0.2@tcp rte … priority 3".
func rule(t testing.TB, text string) (r Rule) {
	t.Helper()
	words := strings.Fields(text)
	for i := 0; i < len(words); i += 2 {
		var err error
		switch value := words[i+1]; words[i] {
		case "src":
			r.Src, err = ParsePattern(value)
		case "dst":
			r.Dst, err = ParsePattern(value)
		case "rte":
			r.Rte, err = ParsePattern(value)
		default:
			_, err = fmt.Sscan(value, &r.Priority)
		}
		if err != nil {
			t.Fatal(text, err)
		}
	}
	return r
}

func list(t testing.TB, rules ...string) (l List) {
	t.Helper()
	for _, text := range rules {
		var err error
		if l, err = l.Add(rule(t, text), -1); err != nil {
			t.Fatal(text, err)
		}
	}
	return l
}

func TestPattern(t *testing.T) {
	spec.Covers(t, "UD-1")
	for _, c := range []struct {
		text, is string
		net      bool
		has, not string
	}{
		{"tcp1", "tcp1", true, "10.0.0.1@tcp1 fd88::2@tcp1", "10.0.0.1@tcp"},
		{"10.0.0.[1-9/2]@tcp", "10.0.0.[1-9/2]@tcp", false, "10.0.0.1@tcp 10.0.0.9@tcp", "10.0.0.2@tcp 10.0.0.1@tcp1"},
		{"*@tcp", "*@tcp", false, "10.0.0.1@tcp", "10.0.0.1@tcp2"},
		{" 10.99.0.*@tcp9 10.0.0.1@tcp ", "10.99.0.*@tcp9 10.0.0.1@tcp", false, "10.99.0.255@tcp9 10.0.0.1@tcp", "10.98.0.1@tcp9"},
	} {
		p, err := ParsePattern(c.text)
		if err != nil || p.String() != c.is || p.IsNet() != c.net || !p.IsValid() {
			t.Errorf("%s: %v %v", c.text, p, err)
		}
		for text := range strings.FieldsSeq(c.has) {
			if !p.Has(nid.MustParse(text)) {
				t.Errorf("%s has no %s", c.text, text)
			}
		}
		for text := range strings.FieldsSeq(c.not) {
			if p.Has(nid.MustParse(text)) {
				t.Errorf("%s has %s", c.text, text)
			}
		}
	}
	for _, text := range []string{"nosuch", "all", "10.0.0.1", "10.0.0.300@tcp", "10.0.0.[5-1]@tcp", "tcp1 tcp2", "*", "10.0.0.1@tcp all", strings.Repeat("10.0.0.1@tcp ", 400)} {
		if p, err := ParsePattern(text); err == nil {
			t.Errorf("%.20s is %.20s", text, p.String())
		}
	}
	var none Pattern
	if none.Has(nid.Lo0()) || none.IsValid() || !none.IsZero() {
		t.Error("no pattern is one")
	}
}

func TestValidate(t *testing.T) {
	spec.Covers(t, "UD-2", "UD-13")
	for _, text := range []string{
		"", "priority 1", "src tcp rte 10.0.0.7@tcp", "src tcp dst tcp rte tcp", "src tcp dst tcp1 priority 1", "dst tcp rte 10.0.0.7@tcp priority 1",
		"src tcp priority 4294967295",
	} {
		if _, err := (List{}).Add(rule(t, text), -1); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%q: %v", text, err)
		}
	}
	var l List
	var err error
	for i := range maxRules + 1 {
		l, err = l.Add(rule(t, fmt.Sprintf("src tcp%d", i)), -1)
	}
	if !errors.Is(err, syscall.ENOSPC) || len(l.Rules()) != maxRules {
		t.Errorf("%d rules, %v", len(l.Rules()), err)
	}
}

// TestOrder adds rules at several positions, and compares the lists with the recorded output of the kernel's
// tool.
func TestOrder(t *testing.T) {
	spec.Covers(t, "UD-3", "UD-4")
	l := list(t, "src tcp1", "src tcp priority 5", "dst 10.88.0.6@tcp priority 1")
	l, err := l.Add(rule(t, "src 10.88.0.[1-5]@tcp dst 10.88.0.[5-9]@tcp"), 0)
	if err != nil {
		t.Fatal(err)
	}
	l, err = l.Add(rule(t, "src tcp1 priority 2"), 50) // the rule exists, so its priority is changed
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Add(rule(t, "src tcp1 priority 2"), 0); !errors.Is(err, syscall.EALREADY) {
		t.Errorf("the same once more: %v", err)
	}
	before := l
	l, err = l.Add(rule(t, "rte 10.88.0.7@tcp"), 50)
	if err != nil {
		t.Fatal(err)
	}
	check := func(l List, want ...string) {
		t.Helper()
		var got []string
		for _, r := range l.Rules() {
			got = append(got, strings.TrimSpace(fmt.Sprintln(r.Src, r.Dst, r.Rte, r.Priority)))
		}
		if !slices.Equal(got, want) {
			t.Errorf("got  %q,\nwant %q", got, want)
		}
	}
	check(l, "10.88.0.[1-5]@tcp 10.88.0.[5-9]@tcp  0", "tcp1   2", "tcp   5", "10.88.0.6@tcp  1", "10.88.0.7@tcp 0")
	if len(before.Rules()) != 4 {
		t.Error("Add changed the list that it was called on")
	}
	l, err = l.Remove(1)
	if err != nil {
		t.Fatal(err)
	}
	check(l, "10.88.0.[1-5]@tcp 10.88.0.[5-9]@tcp  0", "tcp   5", "10.88.0.6@tcp  1", "10.88.0.7@tcp 0")
	for _, index := range []int{-1, 4, 99} {
		if _, err := l.Remove(index); !errors.Is(err, syscall.ENOENT) {
			t.Errorf("rule %d: %v", index, err)
		}
	}
}

func TestApply(t *testing.T) {
	spec.Covers(t, "UD-5", "UD-6", "UD-9", "UD-10")
	none := path.NoPriority
	id := nid.MustParse("10.0.0.5@tcp")
	for _, c := range []struct {
		name          string
		rules         []string
		ni, net       path.Priority // expected priorities of id as an NI of this node
		ofNI, ofNet   path.Priority // expected priorities of id as an NI of another node
		locals, hosts int           // expected number of preferred NIs of this and other nodes
	}{
		{"none", nil, none, none, none, none, 0, 0},
		{"of an NI here", []string{"src 10.0.0.[1-5]@tcp priority 3"}, 3, none, none, none, 0, 0},
		{"of a net here", []string{"src tcp priority 5"}, none, 5, none, none, 0, 0},
		{"of all NIs of a net here", []string{"src *@tcp priority 5"}, 5, none, none, none, 0, 0},
		{"of an NI there", []string{"dst 10.0.0.5@tcp priority 1"}, none, none, 1, none, 0, 0},
		{"of a net there", []string{"dst tcp priority 4"}, none, none, none, 4, 0, 0},
		{"of a router", []string{"rte 10.0.0.5@tcp priority 1"}, none, none, 1, none, 0, 0},
		{"of another net", []string{"src tcp1", "dst tcp1", "rte tcp1"}, none, none, none, none, 0, 0},
		{"the first counts", []string{"src 10.0.0.5@tcp priority 7", "src *@tcp priority 1", "dst *@tcp priority 2", "rte *@tcp priority 0"}, 7, none, 2, none, 0, 0},
		{"net and NI", []string{"src tcp priority 5", "src 10.0.0.5@tcp priority 3"}, 3, 5, none, none, 0, 0},
		{"preferences add up", []string{"src 10.0.0.1@tcp dst tcp", "src tcp1 dst 10.0.0.5@tcp", "dst *@tcp rte 10.0.0.7@tcp", "dst tcp9 rte 10.0.0.8@tcp"}, none, none, none, none, 2, 1},
	} {
		l := list(t, c.rules...)
		ni, net := l.Local(id)
		ofNI, ofNet, prefers := l.Remote(id)
		if ni != c.ni || net != c.net || ofNI != c.ofNI || ofNet != c.ofNet {
			t.Errorf("%s: %d %d %d %d", c.name, ni, net, ofNI, ofNet)
		}
		if prefers == nil {
			prefers = new(path.Preference)
		}
		if len(prefers.Locals) != c.locals || len(prefers.Routers) != c.hosts {
			t.Errorf("%s: prefers %+v", c.name, prefers)
		}
	}
}

func TestJSON(t *testing.T) {
	r := rule(t, "dst 10.0.0.[1-9]@tcp rte tcp")
	b, err := json.Marshal(r)
	var again Rule
	if err != nil || json.Unmarshal(b, &again) != nil || !again.like(&r) {
		t.Errorf("%s %v", b, err)
	}
}

// FuzzPattern: a pattern that can be parsed is printed as text with the same meaning.
func FuzzPattern(f *testing.F) {
	for _, s := range []string{"tcp1", "10.0.0.[1-9/2]@tcp *@o2ib3", "[3-5]@gni", "fd88::/64@tcp", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePattern(s)
		if err != nil {
			return
		}
		if again, err := ParsePattern(p.String()); err != nil || !again.Equal(p) || again.IsNet() != p.IsNet() {
			t.Errorf("%q prints as %q, which reads as %q, %v", s, p, again, err)
		}
		p.Has(nid.Lo0())
	})
}
