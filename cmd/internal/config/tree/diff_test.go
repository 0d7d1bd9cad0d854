package tree

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDiffPeersAndRoutes: a difference in Multi-Rail of a peer or in the health sensitivity of a route is listed, with
// what import would do.
func TestDiffPeersAndRoutes(t *testing.T) {
	t.Parallel()
	const (
		route   = "route:\n- net: tcp1\n  gateway: 10.0.0.1@tcp\n  health_sensitivity: "
		peer    = "peer:\n- primary nid: 10.0.0.1@tcp\n  Multi-Rail: "
		several = "peer 10.0.0.1@tcp: Multi-Rail cannot be false, because it has several NIDs here or in the file"
		two     = "\n  peer ni:\n  - nid: 10.0.0.1@tcp\n  - nid: 10.0.0.2@tcp\n"
	)
	for _, test := range []struct {
		node, file string
		want       []Change
	}{
		{route + "1", route + "1", nil},
		{route + "50", "route:\n- net: tcp1\n  gateway: 10.0.0.1@tcp\n", nil},
		{"route:\n- net: tcp1\n  gateway: 10.0.0.1@tcp\n", route + "1", nil},
		{route + "1", route + "50", []Change{{2, Fails, "route to tcp1 by 10.0.0.1@tcp: health_sensitivity is 1 here and 50 in the file; remove it first"}}},
		{peer + "True" + two, peer + "True" + two, nil},
		{peer + "False", peer + "True", []Change{{2, Sets, "peer 10.0.0.1@tcp: Multi-Rail: false -> true"}}},
		{peer + "True", peer + "False", []Change{{2, Sets, "peer 10.0.0.1@tcp: Multi-Rail: true -> false"}}},
		{peer + "True" + two, peer + "False", []Change{{2, Fails, several}}},
		{peer + "False", peer + "False" + two, []Change{{2, Fails, several}}},
		{"", peer + "False" + two, []Change{{2, Fails, several}}},
	} {
		now, err := Parse([]byte(test.node))
		if err != nil {
			t.Fatal(err)
		}
		f, err := Read([]byte(test.file))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, Diff(now, f)); diff != "" {
			t.Errorf("%q and %q: %s", test.node, test.file, diff)
		}
	}
}
