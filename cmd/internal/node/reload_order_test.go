package node_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/spec"
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
	hasRails(t, n, "[127.0.0.81@tcp 127.0.0.82@tcp1]")
}

// hasRails checks the NIDs of a node in their order, and the credits of the first NI.
func hasRails(t *testing.T, n *node.Node, want string) {
	t.Helper()
	if got := fmt.Sprint(n.NIDs()); got != want || n.Status().NIs[1].Tunables.PeerCredits != 16 {
		t.Errorf("NIs %s, the first one with %d credits; want %s and 16 credits", got, n.Status().NIs[1].Tunables.PeerCredits, want)
	}
}

// TestReloadAddsBehind: an NI that a reload adds does not take the first place, which the NI has that the same reload
// starts again.
func TestReloadAddsBehind(t *testing.T) {
	spec.Covers(t, "OP-6")
	port := freePort(t)
	first := func(credits string) string { return strings.Split(firstRail(port, credits), "  - net type: tcp1")[0] }
	from, to := loaded(t, first("8")), loaded(t, firstRail(port, "16"))
	n := startLoaded(t, from)
	if done, err := n.Reload(t.Context(), from, to); err != nil || len(done) != 3 {
		t.Fatalf("%q, %v", done, err)
	}
	hasRails(t, n, "[127.0.0.81@tcp 127.0.0.82@tcp1]")
}

// retuning is a file with an NI that no other file has, and then with other tunables of an NI that another file has.
const retuning = `net:
  - net type: tcp2
    local NI(s):
      - nid: 127.0.0.83@tcp2
  - net type: tcp
    local NI(s):
      - nid: 127.0.0.81@tcp
        tunables: {peer_credits: 16}
`

// TestImportKeepsPrimaryNID: an NI to which the imported file gives other tunables keeps its place among the NIs, at
// the start of the daemon and when LNet is configured again. An NI that only the imported file has comes behind those
// of the other files.
func TestImportKeepsPrimaryNID(t *testing.T) {
	port := freePort(t)
	for own, want := range map[string]string{
		"networks: tcp(127.0.0.81),tcp1(127.0.0.82)\n": "[127.0.0.81@tcp 127.0.0.82@tcp1 127.0.0.83@tcp2]",
		"networks: tcp(127.0.0.81)\n":                  "[127.0.0.81@tcp 127.0.0.83@tcp2]",
	} {
		n := startImporting(t, importing(t, port+own, retuning), nil)
		if err := n.Import(t.Context()); err != nil {
			t.Fatal(err)
		}
		hasRails(t, n, want)
		takeDown(t, n)
		if _, err := n.Configure(t.Context(), upAll); err != nil {
			t.Fatal(err)
		}
		hasRails(t, n, want)
		if err := n.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}
}
