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
	"ulnet/lnet/nid"
)

// TestHandover: a peer that dials while the daemon is down is not refused, and the next daemon
// answers it, also after a crash, and with descriptors that it cannot use. The manager forgets the
// sockets of NIs that are removed.
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

// useless returns sockets with which a daemon can do nothing: of UDP, of another address, and a file
// that is no socket.
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
