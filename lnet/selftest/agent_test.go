package selftest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
	"ulnet/portals"
	"ulnet/portals/portalstest"
)

// TestAgents: a console makes a session with two nodes, runs PING and BRW tests in both
// directions, and both nodes count what a kernel node counts.
func TestAgents(t *testing.T) {
	spec.Covers(t, "ST-14", "ST-15")
	l := newLab(t, 2, selftest.Config{})
	for _, node := range []int{1, 2} {
		l.want(node, wire.MakeSessionService, &wire.MakeSession{Session: session, Name: "lab"}, wire.OK)
	}
	l.addClient(wire.Test{Service: wire.PingService, Loop: 10, Concurrency: 4}, 2, 1)
	l.addClient(wire.Test{Service: wire.BRWService, Loop: 5, Concurrency: 2, BRW: wire.BRWParams{Op: wire.Read, Length: 1 << 20, Check: wire.CheckFull}}, 2)
	l.addClient(wire.Test{Service: wire.BRWService, Loop: 5, Concurrency: 2, BRW: wire.BRWParams{Op: wire.Write, Length: 12280, Offset: 8, Check: wire.CheckSimple}}, 2)
	client, server := l.runs(time.Second)
	if got := client; got.RPC.Sent != 80+10+10 || got.RPC.Errors+got.RPC.Dropped+got.RPC.Expired+got.Framework.BRWErrors+got.Framework.PingErrors+got.Framework.Batches != 0 {
		t.Errorf("client: %+v", got)
	}
	if got := server; got.RPC.BulkPut != 10<<20 || got.RPC.BulkGet != 10*12280 || got.RPC.Received != 40+10+10+2 || got.LNet.SentBytes < 10<<20 || got.LNet.Received < 62 {
		t.Errorf("server: %+v", got)
	}
	status := l.agents[2].Status()
	if status.Name != "lab" || status.Session != session.String() || status.BulkPut != 10<<20 || status.Moving != 0 || status.Calls != 0 {
		t.Errorf("%+v", status)
	}
}

// TestNodeDies: RPCs to a node that has died end with errors, and the unit with stop-on-error
// ends.
func TestNodeDies(t *testing.T) {
	spec.Covers(t, "ST-17")
	l := newLab(t, 2, selftest.Config{RPCTimeout: 5 * time.Second, SessionTimeout: -1})
	l.want(1, wire.MakeSessionService, &wire.MakeSession{Session: session}, wire.OK)
	l.addClient(wire.Test{Service: wire.BRWService, Loop: -1, Concurrency: 3, StopOnError: true, BRW: wire.BRWParams{Op: wire.Read, Length: 4096, Check: wire.CheckFull}}, 2)
	l.wait = 50 * time.Millisecond
	l.want(1, wire.BatchService, &wire.Batch{Session: session, Batch: 2, Op: wire.RunBatch}, wire.OK)
	if got := l.agents[1].Status(); got.Calls != 3 || got.Sent < 100 {
		t.Errorf("running: %+v", got)
	}
	l.hosts[2].Do(func() {
		if err := l.agents[2].Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	l.run(10 * time.Second)
	if got := l.agents[1].Status(); got.Calls != 0 || got.BRWErrors != 3 || got.Expired+got.Errors < 3 {
		t.Errorf("after the end of its server: %+v", got)
	}
}

// TestClose: an agent that is closed answers nothing, and its node can have another one.
func TestClose(t *testing.T) {
	l := newLab(t, 1, selftest.Config{})
	l.want(1, wire.MakeSessionService, &wire.MakeSession{Session: session}, wire.OK)
	l.hosts[1].Do(func() {
		if _, err := selftest.New(l.tables[1], selftest.Config{}); !errors.Is(err, selftest.ErrTaken) {
			t.Errorf("a second agent: %v", err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := errors.Join(l.agents[1].Close(ended), l.agents[1].Close(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if _, ok := l.ask(1, wire.DebugService, &wire.Debug{}); ok {
		t.Error("a closed agent answers")
	}
	l.hosts[1].Do(func() {
		var err error
		if l.agents[1], err = selftest.New(l.tables[1], selftest.Config{}); err != nil {
			t.Fatal(err)
		}
	})
	l.want(1, wire.DebugService, &wire.Debug{}, wire.ESRCH)
}

// TestAllow: a node that is not allowed makes no session and measures nothing.
func TestAllow(t *testing.T) {
	l := newLab(t, 1, selftest.Config{Allow: func(id nid.NID) bool { return id != simlnd.NID(0) }})
	if _, ok := l.ask(1, wire.PingService, &wire.Ping{Magic: wire.PingMagic}); ok {
		t.Error("a node that is not allowed is answered")
	}
	l.want(1, wire.MakeSessionService, &wire.MakeSession{Session: session}, wire.EPERM)
	if got := l.agents[1].Status(); got.NotAllowed != 2 || got.Dropped != 1 {
		t.Errorf("%+v", got)
	}
}

// TestRecheck: a session of a node that is no longer allowed ends.
func TestRecheck(t *testing.T) {
	allowed := true
	l := newLab(t, 1, selftest.Config{Allow: func(nid.NID) bool { return allowed }})
	l.want(1, wire.MakeSessionService, &wire.MakeSession{Session: session}, wire.OK)
	for _, allowed = range []bool{true, false} {
		l.agents[1].Recheck()
		if got := l.agents[1].Status().Session; (got == session.String()) != allowed {
			t.Errorf("allowed %t: session %s", allowed, got)
		}
	}
}

// TestPortals: a request at the portal of another service, or with unknown match bits, counts as
// malformed.
func TestPortals(t *testing.T) {
	l := newLab(t, 1, selftest.Config{})
	for i, tt := range []struct {
		portal int
		bits   uint64
		ok     bool
	}{
		{wire.FrameworkPortal, uint64(wire.DebugService), true},
		{wire.FrameworkPortal, uint64(wire.DebugService) | 1<<32, false},
		{wire.TestPortal, uint64(wire.DebugService), false},
	} {
		if _, ok := l.askPortal(1, tt.portal, tt.bits, &wire.Debug{}); ok != tt.ok {
			t.Errorf("request %d: answered %t, want %t", i, ok, tt.ok)
		}
	}
	if got := l.agents[1].Status(); got.Malformed != 2 {
		t.Errorf("%+v", got)
	}
}

// TestConfig: each number of the configuration reaches the machine.
func TestConfig(t *testing.T) {
	portalstest.ConfigReaches(t, func(c selftest.Config) engine.Config { return c.Engine() }, nil, "FirstID", "Allow")
}

// TestBareNode: an agent refuses a node on which it could not work.
func TestBareNode(t *testing.T) {
	portalstest.BareNode(t, func(table *portals.Table) error {
		_, err := selftest.New(table, selftest.Config{})
		return err
	})
}
