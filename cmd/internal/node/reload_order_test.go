package node_test

import (
	"slices"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// firstRail returns a configuration with two NIs, the first one with its own peer_credits.
func firstRail(port, credits string) string {
	return port + `net:
  - net type: tcp
    local NI(s):
      - nid: 127.0.0.81@tcp
        tunables:
          peer_credits: ` + credits + `
  - net type: tcp1
    local NI(s):
      - nid: 127.0.0.82@tcp1
`
}

// TestReloadKeepsPrimaryNID: an NI that a reload starts again keeps its place among the NIs, so the
// node keeps its primary NID.
func TestReloadKeepsPrimaryNID(t *testing.T) {
	spec.Covers(t, "OP-6")
	port := freePort(t)
	from, to := loaded(t, firstRail(port, "8")), loaded(t, firstRail(port, "16"))
	n := startLoaded(t, from)
	if done, err := n.Reload(t.Context(), from, to); err != nil || len(done) != 2 {
		t.Fatalf("%q, %v", done, err)
	}
	want := []nid.NID{nid.MustParse("127.0.0.81@tcp"), nid.MustParse("127.0.0.82@tcp1")}
	if got := n.NIDs(); !slices.Equal(got, want) || n.Status().NIs[1].Tunables.PeerCredits != 16 {
		t.Errorf("NIs %v", got)
	}
}
