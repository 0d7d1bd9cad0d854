package node_test

import (
	"fmt"
	"strings"
	"testing"

	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/spec"
)

// TestReloadHandlers: a reload replaces event handlers that have changed, and lets the others go on.
// If a new handler cannot run, the reload fails and changes nothing. TestReloadFailsAtKeys tests that
// handlers stay unchanged if some other change fails.
func TestReloadHandlers(t *testing.T) {
	spec.Covers(t, "OP-6", "OP-7")
	port := freePort(t)
	const stays = "handlers:\n  stays: {on: [gossip], run: [/bin/true]}\n"
	from := loaded(t, port+"networks: tcp(127.0.0.81)\n"+stays+"  changes: {on: [gossip], run: [/bin/true]}\n")
	to := loaded(t, "# The positions of handlers differ.\n"+port+"networks: tcp(127.0.0.81)\n"+stays+"  changes: {on: [gossip.died], run: [/bin/true]}\n  new: {on: [gossip], run: [/bin/true]}\n")
	fails := loaded(t, port+"networks: tcp(127.0.0.81)\nhandlers:\n  stays: {on: [gossip], run: [/bin/true], user: no-such-user}\n")
	n := startLoaded(t, from)
	if _, err := n.TestHandler(t.Context(), node.HandlerName{Name: "stays"}); err != nil {
		t.Fatal(err)
	}
	shown := func() string {
		var list []string
		for _, h := range n.Handlers() {
			list = append(list, fmt.Sprintf("%s %v %d", h.Name, h.On, h.Runs))
		}
		return strings.Join(list, ", ")
	}
	done, err := n.Reload(t.Context(), from, to)
	if err != nil || strings.Join(done, "; ") != "handlers changes, new" {
		t.Errorf("%q, %v", done, err)
	}
	if want := "stays [gossip] 1, changes [gossip.died] 0, new [gossip] 0"; shown() != want {
		t.Errorf("handlers %s, want %s", shown(), want)
	}
	before := shown()
	if done, err := n.Reload(t.Context(), to, fails); err == nil || !strings.Contains(err.Error(), "lnetd.yaml:4:") || len(done) > 0 || shown() != before {
		t.Errorf("%q, %v, handlers %s", done, err, shown())
	}
	if done, err := n.Reload(t.Context(), to, to); err != nil || len(done) > 0 || shown() != before {
		t.Errorf("without a change: %q, %v, handlers %s", done, err, shown())
	}
}
