package nid

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ulnet/lnd/lndtest/spec"
)

func TestSet(t *testing.T) {
	for _, test := range []struct {
		text, prints string // text to parse; text that String returns, empty if the same
		in, out      string // NIDs that the set contains, and some that it does not
	}{
		{text: "all", in: "10.0.0.1@tcp 0@lo 7@gni fd88::1@tcp3"},
		{text: "10.0.0.1@tcp all", prints: "all", in: "10.0.0.2@tcp"},
		{text: "10.0.0.1@tcp", in: "10.0.0.1@tcp", out: "10.0.0.2@tcp 10.0.0.1@tcp1 10.0.0.1@o2ib 0@lo"},
		{text: "10.0.0.1@tcp0", prints: "10.0.0.1@tcp", in: "10.0.0.1@tcp"},
		{text: "010.0.0x0.1@tcp", prints: "10.0.0.1@tcp", in: "10.0.0.1@tcp"},
		{
			text: "192.168.[1-2].[1-128/2]@o2ib0 10.10.*.*@tcp", prints: "192.168.[1-2].[1-128/2]@o2ib 10.10.*.*@tcp",
			in: "192.168.1.1@o2ib 192.168.2.127@o2ib 10.10.7.255@tcp", out: "192.168.1.2@o2ib 192.168.3.1@o2ib 10.11.0.1@tcp",
		},
		{text: "10.0.0.[1, 3-5 ,9]@tcp", prints: "10.0.0.[1,3-5,9]@tcp", in: "10.0.0.4@tcp 10.0.0.9@tcp", out: "10.0.0.2@tcp"},
		{text: "*@tcp1", in: "1.2.3.4@tcp1 fd88::1@tcp1", out: "1.2.3.4@tcp"},
		{text: "255.255.255.255@tcp", prints: "*@tcp", in: "1.2.3.4@tcp", out: "1.2.3.4@tcp2"},
		{text: "*.*.*.*@tcp", in: "1.2.3.4@tcp", out: "fd88::1@tcp"},
		{text: "[3-5]@gni", in: "3@gni 5@gni", out: "6@gni"},
		{text: "[3-5]@gni  7@gni", prints: "[3-5]@gni 7@gni", in: "7@gni", out: "6@gni"},
		{text: "10.1.2.3/16@tcp", prints: "10.1.0.0/16@tcp", in: "10.1.255.1@tcp", out: "10.2.0.1@tcp"},
		{text: "fd88::1@tcp", in: "fd88::1@tcp", out: "fd88::2@tcp"},
		{text: "fd88::/64@tcp", in: "fd88::2@tcp", out: "fd89::2@tcp 10.0.0.1@tcp"},
		{text: "0@lo", in: "0@lo", out: "10.0.0.1@tcp"},
	} {
		set, err := ParseSet(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		want := test.prints
		if want == "" {
			want = test.text
		}
		if set.String() != want {
			t.Errorf("%s prints as %s, want %s", test.text, set, want)
		}
		for in := range strings.FieldsSeq(test.in) {
			if !set.Has(MustParse(in)) {
				t.Errorf("%s lacks %s", test.text, in)
			}
		}
		for out := range strings.FieldsSeq(test.out) {
			if set.Has(MustParse(out)) {
				t.Errorf("%s has %s", test.text, out)
			}
		}
	}
}

func TestSetRefused(t *testing.T) {
	for text, why := range map[string]string{
		"":                      "no NIDs",
		"10.0.0.1":              "want ADDRESS@NET",
		"10.0.0.1@ether":        "unknown network",
		"10.0.0@tcp":            "want four numbers",
		"10.0.0.256@tcp":        "want a number from 0 to 255",
		"10.0.0.1-5@tcp":        "want a number from 0 to 255",
		"10.0.0.[1-5@tcp":       "want ']'",
		"10.0.0.[]@tcp":         "want a number",
		"10.0.0.[5-1]@tcp":      "has nothing in it",
		"10.0.0.[1-5/0]@tcp":    "has nothing in it",
		"10.0.0.[1/2]@tcp":      "a step goes with a range",
		"10.0.0.1@tcp,x@tcp":    "unknown network",
		"10.0.0.0/33@tcp":       "want an address of this network",
		"10.0.0.0/0@tcp":        "want an address of this network",
		"fd88::/64@o2ib":        "want an address of this network",
		"4294967296@gni":        "want a number",
		"10.0.0.1@tcp 10.0@tcp": "want four numbers",
	} {
		if _, err := ParseSet(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", text, err, why)
		}
	}
}

// FuzzSet: a set that can be parsed is printed as text with the same meaning.
func FuzzSet(f *testing.F) {
	for _, s := range []string{"all", "10.0.0.[1-5,9/2]@tcp *@o2ib3", "[3-5]@gni", "fd88::/64@tcp", "0x10.*.0.1@tcp"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		set, err := ParseSet(s)
		if err != nil {
			return
		}
		again, err := ParseSet(set.String())
		if err != nil || again.String() != set.String() {
			t.Errorf("%q prints as %q, which reads as %q, %v", s, set, again, err)
		}
		set.Has(Lo0())
	})
}

// TestSetByDefinition compares an octet's numbers with their definition in lnet-wire §3:
// lo-hi/stride has v if lo ≤ v ≤ hi and stride divides v − lo.
func TestSetByDefinition(t *testing.T) {
	spec.Covers(t, "UD-1")
	rapid.Check(t, func(t *rapid.T) {
		var texts []string
		var has [256]bool
		for range rapid.IntRange(1, 4).Draw(t, "ranges") {
			lo := rapid.IntRange(0, 255).Draw(t, "lo")
			hi, stride := rapid.IntRange(lo, 255).Draw(t, "hi"), rapid.IntRange(1, 300).Draw(t, "stride")
			texts = append(texts, fmt.Sprintf("%d-%d/%d", lo, hi, stride))
			for v := range has {
				has[v] = has[v] || lo <= v && v <= hi && (v-lo)%stride == 0
			}
		}
		set, err := ParseSet(fmt.Sprintf("10.0.[%s].7@tcp", strings.Join(texts, ",")))
		if err != nil {
			t.Fatal(err)
		}
		for v := range has {
			if id := MustParse(fmt.Sprintf("10.0.%d.7@tcp", v)); set.Has(id) != has[v] {
				t.Fatalf("%v: %v is in it: %v", set, id, !has[v])
			}
		}
	})
}
