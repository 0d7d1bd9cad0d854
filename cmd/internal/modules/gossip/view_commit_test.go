package gossip_test

import (
	"errors"
	"strings"
	"testing"

	"ulnet/cmd/internal/modules/gossip"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestViewStartCommit: GO-A21: collectives have been told that a server is alive, before gossip starts or before the server is
// on the list. It still counts as alive right after the start and after the commit, unlike one that is not heard either and
// about which the view was not asked.
func TestViewStartCommit(t *testing.T) {
	spec.Covers(t, "GO-A21")
	slow := fast()
	slow.IntervalMS = 60_000
	for name, c := range map[string]struct{ asked, start, listed string }{
		"start":  {"127.0.0.65@tcp", "127.0.0.[64-66]@tcp", ""},
		"commit": {"127.0.0.65@tcp", "127.0.0.[63-64]@tcp", "127.0.0.[63-66]@tcp"},
	} {
		n := mustGossipNode(t)
		alive := func(id string) bool {
			alive, deaths := n.View().Alive(nid.MustParse(id))
			return alive && deaths == 0
		}
		err := n.Init(slow, strings.NewReader(c.start))
		if c.listed == "" {
			alive(c.asked)
		}
		if err = errors.Join(err, n.Start()); c.listed != "" {
			alive(c.asked)
			err = errors.Join(err, n.Stage(strings.NewReader(c.listed)), n.Commit(gossip.CommitRequest{Anyway: true}))
		}
		if err != nil || !alive(c.asked) || alive("127.0.0.66@tcp") {
			t.Errorf("%s: %v; alive: %v, and without having been asked: %v", name, err, alive(c.asked), alive("127.0.0.66@tcp"))
		}
	}
}
