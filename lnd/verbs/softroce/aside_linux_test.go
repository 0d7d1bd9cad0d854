package softroce

import (
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce/wire"
	"ulnet/lnet/machine"
)

// TestNeighboursMissing: while the system looks for a hundred neighbours that do not exist, requests to them take
// no room in the send buffers of packets and answers to other peers. All buffers are small in this test.
func TestNeighboursMissing(t *testing.T) {
	lab := netlab.New(t)
	hosts := [2]*netlab.Host{lab.Host("a"), lab.Host("b")}
	nets := [2]string{"10.7.0.1/16", "10.7.0.2/16"}
	lab.Cable(hosts[0], nets[0], hosts[1], nets[1])
	var nodes [2]*testNode
	for i, h := range hosts {
		cfg := verbs.OpenConfig{Addr: netip.MustParsePrefix(nets[i]).Addr(), Clock: machine.RealClock(), ReceiveBuffer: 4 << 20}
		nodes[i] = openNode(t, func(cfg verbs.OpenConfig) (d verbs.Device, err error) {
			err = h.Do(func() (err error) { d, err = Open(cfg); return err })
			return d, err
		}, cfg)
	}
	port := nodes[0].device.(*device).hub.port.(*udpPort)
	for _, s := range append(port.aside[wire.Claimed:], port.socket) {
		var err error
		if e := s.rawConn().Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, 32<<10) }); e != nil || err != nil {
			t.Fatal(e, err)
		}
	}
	for _, n := range nodes {
		n.listen()
	}
	conns := connect(t, nodes[0], nodes[1])
	cfg := nodes[0].config()
	cfg.QP.MaxSends, cfg.Timeout = 1, 3*time.Second
	for i := range byte(100) {
		to := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 7, 1, i}), 987)
		if _, err := nodes[0].device.Connect(to, cfg, func(verbs.Conn, verbs.Event) {}); err != nil {
			t.Fatal(err)
		}
	}
	if n := port.Backlog(); n > 8<<10 {
		t.Errorf("%d bytes wait in the send buffer", n)
	}
	began := time.Now()
	connect(t, nodes[1], nodes[0])
	if took := time.Since(began); took > time.Second {
		t.Errorf("a peer that connects waited for %v", took)
	}
	moveInTime(t, nodes, conns, 2)
}
