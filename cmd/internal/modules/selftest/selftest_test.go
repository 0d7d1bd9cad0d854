package selftest

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/node"
	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
	"ulnet/portals"
)

// start starts a node with the module alone.
func start(t *testing.T, change func(*config.Config)) *Module {
	t.Helper()
	cfg := config.Default()
	cfg.Networks, cfg.StateDir, cfg.RuntimeDir = "lo", t.TempDir(), t.TempDir()
	change(&cfg)
	var m *Module
	n, err := node.New(node.Config{Config: cfg, Modules: func(h node.Host) []node.Module {
		m = New(h)
		return []node.Module{m}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// TestDisabled: without the setting selftest the node is no test node, and its status is an error.
func TestDisabled(t *testing.T) {
	m := start(t, func(*config.Config) {})
	if _, err := m.Status(); !errors.Is(err, syscall.ESRCH) {
		t.Error(err)
	}
}

// TestEnabled: the node answers a console on itself.
func TestEnabled(t *testing.T) {
	m := start(t, func(c *config.Config) { c.Selftest = true })
	reply := make(chan wire.Message, 1)
	self := nid.ProcessID{NID: nid.Lo0(), PID: nid.LustrePID}
	data, err := (&wire.Message{Header: wire.Header{Features: 1}, ReplyID: 7, Body: &wire.MakeSession{Session: wire.Session{Console: nid.Lo0(), Stamp: 1}, Name: "own"}}).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	me, err := m.Table.MEAttach(wire.BulkPortal, portals.Match{ID: self, Bits: 7}, portals.Unlink, portals.After)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Table.MDAttach(me, portals.MD{
		Segments: []lnd.Segment{make([]byte, wire.MessageSize)}, Threshold: 1, Options: portals.OpPut,
		Handler: func(e *portals.Event) {
			if answer, err := wire.ParseMessage(e.Bytes()); e.Kind == portals.EventPut && err == nil {
				reply <- answer
			}
		},
	}, portals.Unlink)
	if err != nil {
		t.Fatal(err)
	}
	md, err := m.Table.MDBind(portals.MD{Segments: []lnd.Segment{data}, Threshold: 1}, portals.Unlink)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Table.Put(portals.PutRequest{MD: md, Target: self, Portal: wire.FrameworkPortal, MatchBits: uint64(wire.MakeSessionService)}); err != nil {
		t.Fatal(err)
	}
	select {
	case answer := <-reply:
		if answer.Status != wire.OK {
			t.Errorf("%+v", answer)
		}
	case <-time.After(60 * time.Second):
		t.Fatal("no reply")
	}
	if s, err := m.Status(); err != nil || s.Name != "own" || s.Received != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestAllows: without selftest_allow, nodes on this node's networks are allowed, and with it the nodes
// that it lists. The node itself is always allowed. A reload replaces the list.
func TestAllows(t *testing.T) {
	for list, want := range map[string]map[string]bool{
		"":                       {"0@lo": true, "10.0.0.1@tcp": false, "10.0.0.2@o2ib": false},
		"10.0.0.[1-5]@tcp *@gni": {"0@lo": true, "10.0.0.1@tcp": true, "10.0.0.6@tcp": false, "7@gni": true},
		"all":                    {"0@lo": true, "10.0.0.2@o2ib": true},
	} {
		m := start(t, func(c *config.Config) { c.Selftest, c.SelftestAllow = true, list })
		again := start(t, func(c *config.Config) { c.Selftest, c.SelftestAllow = true, "10.0.0.9@tcp" })
		again.Reload(&config.Config{SelftestAllow: list})
		for id, allowed := range want {
			if got := m.allows(nid.MustParse(id)); got != allowed {
				t.Errorf("selftest_allow %q: %s is allowed: %t", list, id, got)
			}
			if got := again.allows(nid.MustParse(id)); got != allowed {
				t.Errorf("selftest_allow %q by a reload: %s is allowed: %t", list, id, got)
			}
		}
	}
}
