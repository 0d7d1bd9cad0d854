package node_test

import (
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/node"
)

// watching is a module that reads the state of the node during a reload.
type watching struct {
	keyed
	node   *node.Node
	during uint64 // Changes in the state during the last reload
}

// Reload implements node.Reloader.
func (m *watching) Reload(*config.Config) { m.during = m.node.Status().Changes }

// Keys implements node.Module.
func (m *watching) Keys() *node.Keys { return nil }

// TestStatusChanges: Status.Changes is odd while a reload runs. It is even before and after, and rises with each reload,
// import and configuration of LNet.
func TestStatusChanges(t *testing.T) {
	port := freePort(t)
	from, to := loaded(t, port+"networks: tcp(127.0.0.81)\n"), loaded(t, port+"networks: tcp(127.0.0.81)\nselftest_allow: 127.0.0.8@tcp\n")
	m := new(watching)
	m.node = startKeyed(t, from, m)
	before := m.node.Status().Changes
	rises := func(what string, err error) {
		t.Helper()
		now := m.node.Status().Changes
		if err != nil || now <= before || now%2 != 0 {
			t.Errorf("%s: error %v, changes %d after %d", what, err, now, before)
		}
		before = now
	}
	_, err := m.node.Reload(t.Context(), from, to)
	if rises("reload", err); m.during != before-1 {
		t.Errorf("changes %d during the reload, and %d after it", m.during, before)
	}
	rises("import", m.node.Import(t.Context()))
	_, err = m.node.Configure(t.Context(), node.ConfigureRequest{})
	rises("unconfigure", err)
	_, err = m.node.Configure(t.Context(), upAll)
	rises("configure", err)
}
