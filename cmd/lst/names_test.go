package main

import (
	"strings"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/console"
)

// TestNames: names of sessions and groups that other nodes choose are quoted if they have characters that do not print, such as the escape
// sequences of terminals. Other names are printed as they are.
func TestNames(t *testing.T) {
	spec.Covers(t, "ST-43")
	for name, want := range map[string]string{
		"plain": "plain", "two words": "two words", "größe": "größe", "\x1b[2Jx": `"\x1b[2Jx"`, "a\nb": `"a\nb"`, "\x9b2J": `"\x9b2J"`, "a\u202eb": `"a\u202eb"`, "\ufffd": "\ufffd",
	} {
		var b strings.Builder
		joined := selftest.Joined{Name: name, Group: "g"}
		groups := []console.Group{{Name: name}, {Name: "g"}}
		printPing(&b, []console.Answer{{ID: at(1), State: console.Busy, Name: name}})
		printNames(&b, groups)
		printCounts(&b, groups)
		printMembers(&b, groups)
		printMembers(&b, groups[:1])
		if err := printJoined(&b, joined); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{
			"\t12345-1@gni: Busy [session: " + want + " id: " + nid.NID{}.String() + "]\n", "1) " + want + "\n2) g\nTotal 2 groups\n", "\t0\t0\t0\t0\t0\t" + want + "\n",
			"Group [ " + want + " ]\nTotal 0 nodes [ " + want + " ]\n", "No nodes found [ " + want + " ]\n", "Joined session " + want + " of ",
		} {
			if !strings.Contains(b.String(), line) {
				t.Errorf("%q: there is no %q in %q", name, line, b.String())
			}
		}
	}
}
