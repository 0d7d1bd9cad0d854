//go:build linux

package main_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// TestHandover: a peer that dials while the daemon is down is not refused, and the next daemon answers
// it. That holds after a crash, too, and if the next daemon also gets descriptors that it cannot use. The
// service manager forgets the sockets of NIs that are removed.
func TestHandover(t *testing.T) {
	spec.Covers(t, "OP-80", "OP-81", "OP-82")
	t.Parallel()
	own, second := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.3")
	port, err := loopback.FreePort(own, second)
	if err != nil {
		t.Fatal(err)
	}
	manager := lnetdtest.NewManager(t, 0)
	cfg := lnetdtest.Config{Networks: "tcp(127.0.0.1),tcp1(127.0.0.3)", Port: port, Manager: manager}
	names := fmt.Sprintf("tcp-127.0.0.1_%d tcp-127.0.0.3_%d", port, port)
	commands := lnetdtest.Build(t)
	peer := lnetdtest.NewPeer(t, nid.ProcessID{NID: nid.MustParse("127.0.0.2@tcp"), PID: nid.LustrePID}, netip.MustParseAddr("127.0.0.2"), netip.AddrPortFrom(own, port))
	d := commands.Start(t, cfg)
	for _, end := range []func(){func() { _ = d.Stop() }, func() { d.Kill() }} {
		d.Until(time.Minute, "both sockets in the store", func() bool { return strings.Join(manager.Stored(), " ") == names })
		end()
		waits := peer.Dial()
		cfg.Handed = useless(t)
		d = commands.Start(t, cfg)
		peer.Greet(waits, ksock.Control)
		d.Until(time.Minute, "two sockets used and the others refused", func() bool {
			log := d.Log()
			return strings.Count(log, "listening on a socket of the service manager") == 2 && strings.Count(log, "socket of the service manager not used") == len(cfg.Handed)
		})
	}
	if out, err := d.Lnetctl(t.Context(), "net", "del", "--net", "tcp1"); err != nil {
		t.Fatal(out, err)
	}
	want, _, _ := strings.Cut(names, " ")
	d.Until(time.Minute, "a store without the removed NI", func() bool { return strings.Join(manager.Stored(), " ") == want })
	if out, err := d.Lnetctl(t.Context(), "net", "add", "--net", "tcp1", "--if", "127.0.0.3"); err != nil {
		t.Error("add the NI again: ", out, err)
	}
}

// frozen is the clock of the peer's device. It stands still, so that the device never repeats a request.
type frozen struct{}

func (frozen) Now() time.Duration { return 0 }

func (frozen) AfterFunc(time.Duration, func()) machine.Timer { return frozen{} }

func (frozen) Stop() bool { return true }

// TestHandoverRDMA: with RDMA in software, a request for a connection that a peer sends once, while
// the daemon is down, is answered by the next daemon.
func TestHandoverRDMA(t *testing.T) {
	spec.Covers(t, "OP-82", "OP-84")
	t.Parallel()
	hosts, err := loopback.FreeHosts(2)
	if err != nil {
		t.Fatal(err)
	}
	port, err := loopback.FreePort(hosts[0])
	if err != nil {
		t.Fatal(err)
	}
	manager := lnetdtest.NewManager(t, 0)
	cfg := lnetdtest.Config{Networks: fmt.Sprintf("o2ib(%v)", hosts[0]), Port: port, Manager: manager}
	commands := lnetdtest.Build(t)
	peer, err := softroce.Open(verbs.OpenConfig{Addr: hosts[1], Clock: frozen{}})
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	d := commands.Start(t, cfg)
	for _, end := range []func(){func() { _ = d.Stop() }, func() { d.Kill() }} {
		d.Until(time.Minute, "the socket in the store", func() bool { return len(manager.Stored()) == 1 })
		end()
		answered := ask(t, peer, netip.AddrPortFrom(hosts[0], 987))
		d = commands.Start(t, cfg)
		select {
		case e := <-answered:
			if e.Kind != verbs.Rejected {
				t.Errorf("event %v, want Rejected", e.Kind)
			}
		case <-time.After(time.Minute):
			t.Error("no answer")
		}
	}
	if out, err := d.Lnetctl(t.Context(), "net", "del", "--net", "o2ib"); err != nil {
		t.Fatal(out, err)
	}
	d.Until(time.Minute, "an empty store", func() bool { return len(manager.Stored()) == 0 })
}

// ask sends one request for a connection. The channel gets the answer, which rejects the request because the
// request has no data.
func ask(t *testing.T, from verbs.Device, to netip.AddrPort) <-chan verbs.Event {
	t.Helper()
	pd, err := from.NewPD()
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pd.NewPool(verbs.PoolConfig{Buffers: 1, Size: 4096})
	if err != nil {
		t.Fatal(err)
	}
	cq, err := from.NewCQ(4, func([]verbs.Completion) {})
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan verbs.Event, 1)
	_, err = from.Connect(to, verbs.ConnConfig{QP: verbs.QPConfig{PD: pd, Sends: cq, Recvs: cq, Pool: pool, MaxSends: 1}}, func(_ verbs.Conn, e verbs.Event) { answered <- e })
	if err != nil {
		t.Fatal(err)
	}
	return answered
}

// useless returns files that a daemon cannot use: a UDP socket and a TCP socket at addresses that are not
// in its configuration, and a file that is no socket.
func useless(t *testing.T) (files []*os.File) {
	t.Helper()
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	var cfg net.ListenConfig
	cfg.SetMultipathTCP(false)
	tcp, err := cfg.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, null)
	for _, s := range []interface{ File() (*os.File, error) }{udp, tcp.(*net.TCPListener)} {
		f, err := s.File()
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	t.Cleanup(func() {
		for _, f := range files {
			f.Close()
		}
	})
	return files
}
