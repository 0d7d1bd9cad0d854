package tree

import "testing"

// TestNetNames: tcp0 and o2ib0 in a file are the networks tcp and o2ib. A text that is not the name of a
// network stays as it is, so that an error can show it.
func TestNetNames(t *testing.T) {
	const file = `net:
- net type: tcp0
  local NI(s):
  - interfaces:
      0: eth0
- net type: o2ib0
- net type: nosuch0
route:
- net: o2ib0
  gateway: 10.0.0.9@tcp0
- net: nosuch0
  gateway: 10.0.0.9@tcp0
`
	tree, err := Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"tcp", "o2ib", "nosuch0"} {
		if got := tree.Net[i].Type; got != want {
			t.Errorf("network %d is %s, want %s", i, got, want)
		}
	}
	for i, want := range []string{"o2ib", "nosuch0"} {
		if r := tree.Route[i]; r.Net != want || r.Gateway.String() != "10.0.0.9@tcp" {
			t.Errorf("route %d is %+v, want one to %s", i, r, want)
		}
	}
}
