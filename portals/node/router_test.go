package node_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
	"ulnet/portals"
	"ulnet/portals/node"
)

// TestRouter: a node forwards PUTs with their ACKs and GETs with their REPLYs of all sizes between two nets:
// both over TCP, both over RDMA, or one of each.
func TestRouter(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-1", "RO-7", "RO-14")
	for _, nets := range [][2]string{{"tcp", "tcp1"}, {"o2ib", "o2ib1"}, {"tcp", "o2ib"}, {"o2ib", "tcp"}} {
		t.Run(nets[0]+" to "+nets[1], func(t *testing.T) {
			t.Parallel()
			hosts, err := loopback.FreeHosts(4)
			if err != nil {
				t.Fatal(err)
			}
			port := freePort()
			on := func(net string, host int) string { return fmt.Sprintf("%s(%v)", net, hosts[host]) }
			a := start(t, node.Config{Networks: on(nets[0], 0), AcceptPort: port})
			r := start(t, node.Config{Networks: on(nets[0], 1) + "," + on(nets[1], 2), AcceptPort: port})
			b := start(t, node.Config{Networks: on(nets[1], 3), AcceptPort: port})
			if err := r.LNet().StartAsRouter(); err != nil {
				t.Fatal(err)
			}
			addRoute(t, a, nets[1], r.NIDs()[0])
			addRoute(t, b, nets[0], r.NIDs()[1])
			for _, size := range []int{0, 1, 4096, 4097, 1 << 20} {
				putAndGet(t, a, b, size)
				putAndGet(t, b, a, size)
			}
			awaitRouted(t, r)
			if s := r.LNet().Stats(); s.RouteCount < 40 || s.RouteLength < 4*(1<<20) {
				t.Errorf("%+v", s)
			}
		})
	}
}

// awaitRouted waits until no message is in a router: the last one may still be leaving when
// its receiver handles it.
func awaitRouted(t *testing.T, r *node.Node) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	limit := time.After(60 * time.Second)
	for r.LNet().Router().Buffers.Tickets > 0 {
		select {
		case <-ticker.C:
		case <-limit:
			t.Fatalf("not all has come back: %+v", r.LNet().Router().Buffers)
		}
	}
}

func addRoute(t *testing.T, n *node.Node, net string, by nid.NID) {
	t.Helper()
	if err := n.LNet().AddRoute(route.New(nid.MustParseNet(net), by)); err != nil {
		t.Fatal(err)
	}
}

// putAndGet puts size bytes from one node to another and gets them back.
func putAndGet(t *testing.T, from, to *node.Node, size int) {
	t.Helper()
	const portal, bits = 20, 7
	target := nid.ProcessID{NID: to.NIDs()[0], PID: nid.LustrePID}
	there := make([]byte, max(size, 1))
	me, err := to.Table().MEAttach(portal, portals.Match{Bits: bits}, portals.Unlink, portals.After)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.Table().MDAttach(me, portals.MD{
		Segments: []lnd.Segment{there}, Threshold: 2, Options: portals.OpPut | portals.OpGet | portals.ManageRemote,
	}, portals.Unlink); err != nil {
		t.Fatal(err)
	}
	sent, back := bytes.Repeat([]byte{byte(size) + 1}, max(size, 1)), make([]byte, max(size, 1))
	await(t, from, sent[:size], portals.EventAck, func(md portals.MDHandle) error {
		return from.Table().Put(portals.PutRequest{MD: md, Ack: true, Target: target, Portal: portal, MatchBits: bits})
	})
	await(t, from, back[:size], portals.EventReply, func(md portals.MDHandle) error {
		return from.Table().Get(portals.GetRequest{MD: md, Target: target, Portal: portal, MatchBits: bits})
	})
	if !bytes.Equal(sent[:size], back[:size]) {
		t.Errorf("%d bytes from %v to %v came back changed", size, from.NIDs()[0], target.NID)
	}
}

// await binds an MD with the given memory, calls do to start a Put or Get with that MD, and waits for an
// event of the kind want.
func await(t *testing.T, n *node.Node, memory []byte, want portals.EventKind, do func(portals.MDHandle) error) {
	t.Helper()
	events := make(chan portals.Event, 4)
	md, err := n.Table().MDBind(portals.MD{
		Segments: []lnd.Segment{memory}, Threshold: portals.ThresholdInfinite,
		Handler: func(e *portals.Event) { events <- *e },
	}, portals.Unlink)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Table().MDUnlink(md)
	if err := do(md); err != nil {
		t.Fatal(err)
	}
	limit := time.After(60 * time.Second)
	for {
		select {
		case e := <-events:
			if e.Err != nil {
				t.Fatalf("%d bytes: %v: %v", len(memory), e.Kind, e.Err)
			}
			if e.Kind == want {
				return
			}
		case <-limit:
			t.Fatalf("%d bytes: no %v", len(memory), want)
		}
	}
}
