package console_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
	"ulnet/portals/node"
)

// wait is how long commands wait for nodes. It is long, because in the tests below all units of many tests
// start at one time, so that answers may come late.
const wait = time.Minute

// cluster is four real nodes on one network in one process; the first one is the console.
type cluster struct {
	t       *testing.T
	ctx     context.Context
	console *console.Console
	agents  []*selftest.Agent
	ids     []nid.ProcessID
}

func newCluster(t *testing.T, network string) *cluster {
	t.Helper()
	hosts, err := loopback.FreeHosts(4)
	if err != nil {
		t.Fatal(err)
	}
	port, err := loopback.FreePort(netip.IPv4Unspecified())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	c := &cluster{t: t, ctx: ctx}
	for i, a := range hosts {
		n, err := node.Start(node.Config{Networks: fmt.Sprintf("%s(%v)", network, a), AcceptPort: port})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = n.Close(context.WithoutCancel(ctx)) })
		agent, err := selftest.New(n.Table(), selftest.Config{})
		if err != nil {
			t.Fatal(err)
		}
		c.agents, c.ids = append(c.agents, agent), append(c.ids, nid.ProcessID{NID: n.NIDs()[0], PID: nid.LustrePID})
		if i == 0 {
			if c.console, err = console.New(n.Table(), agent, console.Config{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}

// good fails the test unless a command and all its RPCs have succeeded.
func (c *cluster) good(answers []console.Answer, err error) []console.Answer {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, a := range answers {
		if !a.OK() {
			c.t.Fatalf("%+v", a)
		}
	}
	return answers
}

// runs runs a batch to its end.
func (c *cluster) runs(batch string) {
	c.t.Helper()
	c.good(c.console.Run(c.ctx, key, batch, wait))
	for running := uint32(1); running > 0; {
		running = 0
		for _, a := range c.good(c.console.Query(c.ctx, key, batch, 0, wait)) {
			running += a.Active
		}
	}
}

// TestNetworks: a console and three nodes, on TCP and on RDMA in software, run PING and BRW tests in
// both directions, with all sizes, checks and distributions. The nodes count all requests and bytes,
// and no error.
func TestNetworks(t *testing.T) {
	spec.Covers(t, "ST-25", "ST-27")
	for _, network := range []string{"tcp", "o2ib"} {
		t.Run(network, func(t *testing.T) {
			c := newCluster(t, network)
			if _, err := c.console.NewSession(c.ctx, console.NewSession{Key: key, Name: network, Features: 1}); err != nil {
				t.Fatal(err)
			}
			c.good(c.console.AddGroup(c.ctx, key, "one", c.ids[1:2]))
			c.good(c.console.AddGroup(c.ctx, key, "three", c.ids[1:4]))
			c.good(c.console.AddGroup(c.ctx, key, "all", c.ids))
			c.distributions()
			c.sizes()
			for _, a := range c.good(c.console.Stat(c.ctx, key, console.Target{Session: true}, wait)) {
				if f := a.Stat.Framework; f.BRWErrors+f.PingErrors+a.Stat.RPC.Errors+a.Stat.RPC.Expired != 0 {
					t.Errorf("%+v", a.Stat)
				}
			}
			if err := c.console.Close(c.ctx); err != nil {
				t.Error(err)
			}
			for i, a := range c.agents {
				if got := a.Status().Session; got != "none" {
					t.Errorf("node %d has the session %s", i, got)
				}
			}
		})
	}
}

// distributions runs PING tests with distributions, and counts their requests.
func (c *cluster) distributions() {
	c.t.Helper()
	for _, tt := range []struct {
		from, to         string
		distribute, span int
		want             uint32 // expected number of requests of the test
	}{
		{"three", "three", 1, 1, 3 * 10 * 2}, {"one", "three", 1, 3, 3 * 10 * 2}, {"three", "one", 3, 1, 3 * 10 * 2}, {"all", "three", 1, 2, 4 * 2 * 10 * 2},
	} {
		batch := fmt.Sprint(tt.from, tt.to)
		if err := c.console.AddBatch(c.ctx, key, batch); err != nil {
			c.t.Fatal(err)
		}
		c.good(c.console.AddTest(c.ctx, key, console.Test{
			Batch: batch, From: tt.from, To: tt.to, Service: wire.PingService, Loop: 10, Concurrency: 2, Distribute: tt.distribute, Span: tt.span,
		}))
		before := c.sent(tt.from)
		c.runs(batch)
		if got := c.sent(tt.from) - before; got != tt.want {
			c.t.Errorf("%s to %s, %d:%d: %d requests, want %d", tt.from, tt.to, tt.distribute, tt.span, got, tt.want)
		}
	}
}

// sent returns how many requests the nodes of a group have sent.
func (c *cluster) sent(group string) (sum uint32) {
	c.t.Helper()
	for _, a := range c.good(c.console.Stat(c.ctx, key, console.Target{Group: group}, wait)) {
		sum += a.Stat.RPC.Sent
	}
	return sum
}

// sizes runs BRW tests of many sizes, with each check, in both directions.
func (c *cluster) sizes() {
	c.t.Helper()
	const batch = "batch"
	var bytes uint64
	for _, op := range []wire.BRWOp{wire.Read, wire.Write} {
		for _, check := range []wire.Check{wire.CheckNone, wire.CheckSimple, wire.CheckFull} {
			for _, length := range effort.Some(3, []uint32{8, 512, 4088, 4096, 4104, 16384, 65536, 1<<20 - 8, 1 << 20}) {
				c.good(c.console.AddTest(c.ctx, key, console.Test{
					Batch: batch, From: "one", To: "three", Service: wire.BRWService, Loop: 2, Concurrency: 1, Distribute: 1, Span: 3,
					BRW: wire.BRWParams{Op: op, Check: check, Length: length},
				}))
				bytes += uint64(length) * 3 * 2
			}
		}
	}
	before := c.moved()
	c.runs(batch)
	if got := c.moved() - before; got != bytes {
		c.t.Errorf("%d bytes of bulk data, want %d", got, bytes)
	}
	if _, err := c.console.AddTest(c.ctx, key, console.Test{
		Batch: batch, From: "one", To: "three", Service: wire.BRWService, Loop: 1, Concurrency: 1, Distribute: 1, Span: 1,
		BRW: wire.BRWParams{Op: wire.Read, Check: wire.CheckFull, Length: 4},
	}); !errors.Is(err, syscall.EINVAL) {
		c.t.Error(err)
	}
}

// moved returns how many bytes of bulk data servers have moved.
func (c *cluster) moved() (sum uint64) {
	c.t.Helper()
	for _, a := range c.good(c.console.Stat(c.ctx, key, console.Target{Group: "three"}, wait)) {
		sum += a.Stat.RPC.BulkGet + a.Stat.RPC.BulkPut
	}
	return sum
}

// TestJoinNetwork: nodes ask the console for membership, each in a group of its own, and take part in
// a test. A node that is in a session already is refused, and so is a request to a console that has
// no session.
func TestJoinNetwork(t *testing.T) {
	spec.Covers(t, "ST-31", "ST-33")
	c := newCluster(t, "tcp")
	if _, err := c.agents[1].Join(c.ctx, c.ids[0], "clients"); !errors.Is(err, syscall.ESRCH) {
		t.Error(err)
	}
	s, err := c.console.NewSession(c.ctx, console.NewSession{Key: key, Name: "open", Features: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, group := range []string{"", "clients", "servers"} {
		if i == 0 {
			continue
		}
		got, err := c.agents[i].Join(c.ctx, c.ids[0], group)
		if err != nil || got != (selftest.Joined{Session: s.ID, Name: "open", Group: group}) {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if _, err := c.agents[1].Join(c.ctx, c.ids[0], "servers"); !errors.Is(err, syscall.EBUSY) {
		t.Error(err)
	}
	c.good(c.console.AddTest(c.ctx, key, console.Test{
		Batch: "batch", From: "clients", To: "servers", Service: wire.BRWService, Loop: 5, Concurrency: 2, Distribute: 1, Span: 1,
		BRW: wire.BRWParams{Op: wire.Write, Check: wire.CheckFull, Length: 65536},
	}))
	c.runs("batch")
	if got := c.agents[2].Status().BulkGet; got != 10*65536 {
		t.Errorf("%d bytes", got)
	}
	c.good(c.console.EndSession(c.ctx, key))
	for i := 1; i < 3; i++ {
		if got := c.agents[i].Status().Session; got != "none" {
			t.Errorf("node %d has the session %s", i, got)
		}
	}
}
