package node_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/capture"
	"ulnet/lnd/lndtest"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// TestMulticastBetweenNodes: RM-25, RM-A22: a multicast datagram is sent between whole nodes, through the
// faults and the capture that every node has. Ports and addresses are as configured.
func TestMulticastBetweenNodes(t *testing.T) {
	spec.Covers(t, "RM-25", "RM-A22")
	for _, net := range []string{"tcp", "o2ib"} {
		t.Run(net, func(t *testing.T) { testMulticastBetweenNodes(t, net) })
	}
}

func testMulticastBetweenNodes(t *testing.T, net string) {
	first := netip.AddrFrom4([4]byte{127, byte(1 + rand.IntN(250)), byte(rand.Uint32()), 1}) // random addresses, because all tests share the single port of RDMA
	addrs := []netip.Addr{first, first.Next()}
	port, err := loopback.FreePort(addrs...)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	tap, err := capture.NewWriter(&file, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	var nodes []*node.Node
	for _, addr := range addrs {
		cfg := config.Default()
		cfg.Networks, cfg.AcceptPort, cfg.MulticastBase = net+"("+addr.String()+")", int(port), "239.77.0.0"
		own := node.Config{Config: cfg}
		if len(nodes) == 0 {
			own.Tap = tap
		}
		n, err := node.New(own)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
		t.Cleanup(func() { _ = n.Shutdown(context.Background()) })
	}
	arrived := make(chan string, 1)
	var in portals.Inbox
	if err := in.Open(nodes[1].Table(), portals.InboxConfig{Portal: 40, Size: 100, Handle: func(e *portals.Event, data []byte) {
		arrived <- e.Initiator.NID.String() + " " + e.Target.NID.String() + " " + string(data)
	}}); err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := nodes[1].Table().JoinGroup(nid.NID{}, 258, 40); err != nil {
		t.Fatal(err)
	}
	table := nodes[0].Table()
	md, err := table.MDBind(portals.MD{Segments: []portals.Segment{[]byte("hello")}, Threshold: 1}, portals.Unlink)
	if err == nil {
		err = table.PutMulticast(portals.PutMulticastRequest{MD: md, Group: 258, Portal: 40})
	}
	if err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-arrived:
		if want := first.String() + "@" + net + " 239.77.1.2@" + net + " hello"; got != want {
			t.Errorf("arrived: %q, want %q", got, want)
		}
	case <-time.After(waitLimit):
		t.Fatal("nothing arrives")
	}
	checkMulticastStatus(t, nodes, int(port))
	if err := tap.Close(); err != nil {
		t.Fatal(err)
	}
	checkMulticastCapture(t, &file)
}

// checkMulticastStatus: the first node has sent one datagram, and the second has received it and
// is in the group. A datagram may arrive before its sender counts it.
func checkMulticastStatus(t *testing.T, nodes []*node.Node, port int) {
	t.Helper()
	var wrong string
	right := func() bool { wrong = wrongMulticastStatus(nodes, port); return wrong == "" }
	if !lndtest.Poll(right) {
		t.Error(wrong)
	}
}

func wrongMulticastStatus(nodes []*node.Node, port int) (wrong string) {
	for i, n := range nodes {
		for _, ni := range n.Status().NIs {
			if ni.NID.IsLo() {
				continue
			}
			m, ports := ni.LND.Multicast, []int{port + 10000, port - 10000}
			if ni.LND.Verbs != nil {
				ports = []int{4791}
			}
			if m == nil || m.Sent != uint64(1-i) || m.Received != uint64(i) || len(ni.Groups) != i || !slices.Contains(ports, int(m.Port)) {
				wrong += fmt.Sprintf("node %d, accept port %d: groups %v, %+v\n", i, port, ni.Groups, m)
			}
		}
	}
	return wrong
}

func checkMulticastCapture(t *testing.T, file io.Reader) {
	t.Helper()
	in, err := capture.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	d := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
		if r.Datagram && r.Dst().Addr() == r.Header.DestNID.Addr() && string(r.Payload) == "hello" {
			found++
		}
	})
	for p, err := in.Next(); err != io.EOF; p, err = in.Next() {
		if err != nil {
			t.Fatal(err)
		}
		d.Packet(p.Time, p.Link, p.Data)
	}
	d.Close()
	if found != 1 {
		t.Errorf("%d datagrams in the capture, want 1", found)
	}
}
