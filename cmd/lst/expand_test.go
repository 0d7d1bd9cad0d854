package main

import (
	"strings"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestExpand: brackets expand by the cross product of their numbers.
func TestExpand(t *testing.T) {
	spec.Covers(t, "ST-41")
	for expression, want := range map[string]string{
		"10.0.0.1@tcp":             "10.0.0.1@tcp",
		"10.0.0.1":                 "10.0.0.1@tcp",
		"7@gni":                    "7@gni",
		"10.0.0.[2-3]@o2ib":        "10.0.0.2@o2ib 10.0.0.3@o2ib",
		"10.0.[0-1].[2-6/2,9]@tcp": "10.0.0.2@tcp 10.0.0.4@tcp 10.0.0.6@tcp 10.0.0.9@tcp 10.0.1.2@tcp 10.0.1.4@tcp 10.0.1.6@tcp 10.0.1.9@tcp",
		"10.0.0.[01-02]@tcp":       "10.0.0.1@tcp 10.0.0.2@tcp",
		"[1-2]@gni[3-4]":           "1@gni3 1@gni4 2@gni3 2@gni4",
	} {
		ids, err := expand(expression)
		var texts []string
		for _, id := range ids {
			if id.PID != nid.LustrePID {
				t.Errorf("%s: %v", expression, id)
			}
			texts = append(texts, id.NID.String())
		}
		if got := strings.Join(texts, " "); got != want || err != nil {
			t.Errorf("%s: %s, %v", expression, got, err)
		}
	}
}

// TestExpandRefused: an expression that names no node, or too many nodes, is refused, and the error
// says why.
func TestExpandRefused(t *testing.T) {
	spec.Covers(t, "ST-41")
	for expression, want := range map[string]string{
		"nosuch":                           "Invalid nid: nosuch",
		"10.88.0.3@nosuch":                 "Invalid nid: 10.88.0.3@nosuch",
		"":                                 "Invalid nid: ",
		"*@tcp":                            "Invalid nid: *@tcp",
		"<?>":                              "Invalid nid: <?>",
		"10.0.0.[1-300]@tcp":               "Invalid nid: 10.0.0.256@tcp",
		"fd88::5@tcp":                      "Invalid nid: fd88::5@tcp: the messages of selftest have no form for IPv6 addresses; use a NID of the node with an IPv4 address",
		"[1-999999999]@gni":                "Invalid nid: [1-999999999]@gni: more than 16384",
		"[0-255].[0-255].[0-255].1@tcp":    "Invalid nid: [0-255].[0-255].[0-255].1@tcp: more than 16384",
		strings.Repeat("[1-2]", 99) + "@x": "Invalid nid: " + strings.Repeat("[1-2]", 99) + "@x: more than 16384",
	} {
		if ids, err := expand(expression); err == nil || err.Error() != want {
			t.Errorf("%s: %d nodes, %v", expression, len(ids), err)
		}
	}
	for _, expression := range []string{"10.0.0.[1@tcp", "10.0.0.[]@tcp", "10.0.0.[3-1]@tcp", "10.0.0.[1-9/0]@tcp", "10.0.0.[a]@tcp"} {
		if ids, err := expand(expression); err == nil || !strings.HasPrefix(err.Error(), "Invalid nid: "+expression) {
			t.Errorf("%s: %v, %v", expression, ids, err)
		}
	}
	if ids, err := expandAll([]string{"[1-16384]@gni", "1@gni1"}); err == nil {
		t.Errorf("%d nodes", len(ids))
	}
}

// FuzzExpand: whatever the expression is, it names nodes that selftest can name, and not too many.
func FuzzExpand(f *testing.F) {
	for _, seed := range []string{"10.0.[0-1].[2-20/2,30]@o2ib", "[1-999999999]@gni", "[0-4294967295/4294967295]@gni", "fe80::[1-2]@tcp", "[[]]", "[1-2][3-4]@gni[0-9]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		ids, err := expand(expression)
		if len(ids) > maxNodes || err == nil && len(ids) == 0 {
			t.Errorf("%q: %d nodes, %v", expression, len(ids), err)
		}
		for _, id := range ids {
			if !id.IsValid() || id.NID.IsAny() || !id.NID.Is4() {
				t.Errorf("%q: %v", expression, id)
			}
		}
	})
}
