package replay_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/o2iblnd/internal/replay"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnd/verbs/softroce/wire"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// node is the node under test: our driver over softroce, on a Stage.
type node struct {
	*replay.Stage
	t     *testing.T
	addr  netip.Addr
	up    *upper
	ni    lnd.NI
	ops   map[int]replay.Op // operations of the node, by index of packet in the script
	sent  []*lnd.Message
	ended chan error // receives the result of Shutdown
}

// o2ib returns the o2ib NID of a.
func o2ib(a netip.Addr) nid.NID { return nid.FromAddr(nid.MakeNet(nid.O2IB, 0), a) }

// newNode starts a node with the recorded numbers on a stage; adjust may change its
// tunables.
func newNode(t *testing.T, s *replay.Script, host netip.Addr, adjust func(*o2iblnd.Config, *lnd.Config)) *node {
	t.Helper()
	n := prepare(t, s, host)
	if err := n.start(s, n.Stage, adjust); err != nil {
		t.Fatal(err)
	}
	return n
}

// prepare makes a node that is not started.
func prepare(t *testing.T, s *replay.Script, host netip.Addr) *node {
	n := &node{Stage: replay.NewStage(s, host), t: t, addr: s.Other(host), ops: map[int]replay.Op{}, ended: make(chan error, 1)}
	for _, op := range s.Operations(n.addr) {
		n.ops[op.At] = op
	}
	n.up = newUpper(t, s.Deliveries(n.addr))
	n.up.peer = o2ib(host)
	n.Player.Also = replay.OlderAndImprovised
	n.Player.Begin = n.begin
	n.Player.Prepare()
	return n
}

// start starts the node on a network, nil for UDP.
func (n *node) start(s *replay.Script, network wire.Network, adjust func(*o2iblnd.Config, *lnd.Config)) error {
	numbers := s.Numbers(n.addr)
	cfg := o2iblnd.Config{Open: softroce.NewOpener(softroce.Options{Network: network, Numbers: numbers}), NoMulticast: true}
	if len(numbers.Cookies) > 0 {
		cfg.FirstCookie = numbers.Cookies[0]
	}
	general := lnd.Config{
		Net: nid.MakeNet(nid.O2IB, 0), Interface: n.addr.String(), Incarnation: numbers.Stamp, Clock: machine.RealClock(),
	}
	if adjust != nil {
		adjust(&cfg, &general)
	}
	driver, err := o2iblnd.New(cfg)
	if err == nil {
		n.ni, err = driver.Startup(general, n.up)
	}
	n.up.mu.Lock()
	defer n.up.mu.Unlock()
	n.up.ni = n.ni
	return err
}

// begin starts what makes the node send the packet at this index of the script. It does nothing
// for a packet of the host.
func (n *node) begin(at int) {
	op, is := n.ops[at]
	switch {
	case !is:
	case op.Kind == replay.Disconnect:
		go n.shutdown()
	default:
		n.send(&op)
	}
}

func (n *node) send(op *replay.Op) {
	m := n.up.message(op)
	n.sent = append(n.sent, m)
	n.ni.Send(m)
}

func (n *node) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	n.ended <- n.ni.Shutdown(ctx)
}

// play runs the script to its end, checks that the node has sent and received all messages and sends
// nothing more, and ends the node.
func (n *node) play() {
	n.t.Helper()
	if err := n.Run(); err != nil {
		n.t.Error(err)
	} else if err := n.Quiet(400 * time.Millisecond); err != nil {
		n.t.Error(err)
	}
	if err := n.up.check(n.sent); err != nil {
		n.t.Error(err)
	}
	n.close()
}

// close ends a node whose peer does not answer any more.
func (n *node) close() {
	n.t.Helper()
	n.Clear()
	go n.shutdown()
	if err := <-n.ended; err != nil {
		n.t.Errorf("shutdown: %v", err)
	}
}
