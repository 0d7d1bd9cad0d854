package service

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/service/servicetest"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
)

// waitLimit bounds waits for what happens at once on an idle machine.
const waitLimit = 60 * time.Second

// TestMain gives the manager, which runs in this process, time to answer on a busy machine.
func TestMain(m *testing.M) {
	sendTimeout, barrierTimeout, busyTimeout = waitLimit, waitLimit, waitLimit // TestBusyManager sets shorter ones
	os.Exit(m.Run())
}

// keeper is a manager with a store, for a process whose log is in a buffer.
type keeper struct {
	*servicetest.Manager
	messages chan string
	log      bytes.Buffer
}

func newKeeper(t *testing.T) *keeper {
	t.Helper()
	k := &keeper{messages: make(chan string, 1000)}
	var err error
	if k.Manager, err = servicetest.Start(filepath.Join(t.TempDir(), "n"), func(text string) { k.messages <- text }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k
}

// process returns the sockets of a process that inherits files under the names in the store.
func (k *keeper) process(t *testing.T, names string, files ...*os.File) *Sockets {
	t.Helper()
	m := New(environment(map[string]string{"NOTIFY_SOCKET": k.Address()}), slog.New(slog.NewTextHandler(&k.log, nil)))
	return m.Sockets(inherit(handed(len(files), names), numbered(t, files...)))
}

// await waits for a message of the process.
func (k *keeper) await(t *testing.T, begin string) string {
	t.Helper()
	for {
		select {
		case text := <-k.messages:
			if strings.HasPrefix(text, begin) {
				return text
			}
		case <-time.After(waitLimit):
			t.Fatalf("no message %s", begin)
		}
	}
}

// listen listens, on any port of 127.0.0.1 if the port of local is 0.
func listen(t *testing.T, s *Sockets, local netip.AddrPort) (net.Listener, netip.AddrPort) {
	t.Helper()
	l, err := s.Listen(*plain(), local)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, addressOf(l.Addr())
}

// accepts checks that a listener accepts a connection from an address.
func accepts(t *testing.T, l net.Listener, from net.Addr) {
	t.Helper()
	_ = l.(*listener).SetDeadline(time.Now().Add(waitLimit))
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.RemoteAddr().String() != from.String() {
		t.Errorf("accepted %v, want %v", c.RemoteAddr(), from)
	}
}

var anyPort = netip.MustParseAddrPort("127.0.0.1:0")

// TestHandover: while no process listens, connections wait for the next one, which accepts them.
func TestHandover(t *testing.T) {
	spec.Covers(t, "OP-80")
	k := newKeeper(t)
	first := k.process(t, "")
	l, local := listen(t, first, anyPort)
	first.Started()
	store := k.await(t, "FDSTORE=1")
	name := tcpAt(local).name()
	if store != "FDSTORE=1\nFDNAME="+name+"\nFDPOLL=0" || strings.Contains(name, ":") || !slices.Equal(k.Stored(), []string{name}) {
		t.Errorf("%q, stored %v", store, k.Stored())
	}
	file := fileOf(t, l.(*listener).TCPListener) // plays the manager's copy of the descriptor
	first.Stopping()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_ = first.manager.barrier(waitLimit) // returns when the manager has read all messages
	c, err := net.Dial("tcp", local.String())
	if err != nil {
		t.Fatalf("while no process listens: %v", err)
	}
	defer c.Close()

	next := k.process(t, name, file)
	resumed, at := listen(t, next, local)
	next.Started()
	if at != local {
		t.Errorf("listens on %v, want %v", at, local)
	}
	accepts(t, resumed, c.LocalAddr())
	if !slices.Equal(k.Stored(), []string{name}) || !strings.Contains(k.log.String(), "listening on a socket of the service manager") {
		t.Errorf("stored %v, log %s", k.Stored(), &k.log)
	}
}

// TestForgotten: the manager forgets the socket of an NI that is removed, and the address can be
// used again at once.
func TestForgotten(t *testing.T) {
	spec.Covers(t, "OP-80")
	k := newKeeper(t)
	s := k.process(t, "")
	l, local := listen(t, s, anyPort)
	s.Started()
	for range 20 {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l, _ = listen(t, s, local)
	}
	_ = l.Close()
	_ = s.manager.barrier(waitLimit) // returns when the manager has read all messages
	if len(k.Stored()) > 0 {
		t.Errorf("stored %v", k.Stored())
	}
	if c, err := net.Dial("tcp", local.String()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a removed NI: %v, %v", c, err)
	}
	if k.log.Len() > 0 {
		t.Errorf("log %s", &k.log)
	}
}

// TestClosedWhileStarting: a process that closes a socket before it has started, as for an NI to which an imported file gives
// other tunables, can use the address again at once. If it does not, the manager forgets the socket when the process has
// started.
func TestClosedWhileStarting(t *testing.T) {
	spec.Covers(t, "OP-80", "OP-84")
	k := newKeeper(t)
	s := k.process(t, "")
	l, local := listen(t, s, anyPort)
	stored := fileOf(t, l.(*listener).TCPListener) // plays the manager's copy of the descriptor
	c, err := s.ListenPacket(*plain(), anyPort)
	if err != nil {
		t.Fatal(err)
	}
	packets := addressOf(c.LocalAddr())
	storedPackets := fileOf(t, c.(*datagrams).UDPConn)
	for range 3 {
		if err := errors.Join(l.Close(), c.Close()); err != nil {
			t.Fatal(err)
		}
		l, _ = listen(t, s, local)
		if c, err = s.ListenPacket(*plain(), packets); err != nil {
			t.Fatal(err)
		}
	}
	dialled, err := net.Dial("tcp", local.String())
	if err != nil {
		t.Fatal(err)
	}
	defer dialled.Close()
	accepts(t, l, dialled.LocalAddr())
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	s.Started()
	_ = s.manager.barrier(waitLimit) // returns when the manager has read all messages
	if want := tcpAt(local).name(); !slices.Equal(k.Stored(), []string{want}) {
		t.Errorf("stored %v, want %s", k.Stored(), want)
	}
	_ = l.Close()
	_ = s.manager.barrier(waitLimit)
	_, _ = stored.Close(), storedPackets.Close() // the manager has forgotten both
	for _, network := range []string{"tcp", "udp"} {
		if again, err := socketAt(network, local, packets); err != nil {
			t.Errorf("%s: %v", network, err)
		} else {
			_ = again.Close()
		}
	}
}

// socketAt binds a socket that no manager has.
func socketAt(network string, tcp, udp netip.AddrPort) (io.Closer, error) {
	if network == "tcp" {
		return net.Listen("tcp", tcp.String())
	}
	return net.ListenPacket("udp", udp.String())
}

// TestOtherAddress: a socket of another address is closed and not used, whatever its name is. If the
// socket was in the manager's store, the manager forgets it.
func TestOtherAddress(t *testing.T) {
	spec.Covers(t, "OP-81")
	for _, own := range []bool{false, true} {
		k := newKeeper(t)
		other, file := listenTCP(t)
		port, err := loopback.FreePort(anyPort.Addr())
		if err != nil {
			t.Fatal(err)
		}
		wanted := netip.AddrPortFrom(anyPort.Addr(), port)
		name := tcpAt(wanted).name()
		if own {
			name = tcpAt(addressOf(other.Addr())).name()
		}
		s := k.process(t, name, file)
		_, at := listen(t, s, wanted)
		s.Started()
		if at != wanted || isOpen(500) || !strings.Contains(k.log.String(), "nothing here listens on "+other.Addr().String()) {
			t.Errorf("listens on %v, want %v; log %s", at, wanted, &k.log)
		}
		if own {
			k.await(t, "FDSTOREREMOVE=1\nFDNAME="+name)
		}
	}
}

// TestSocketUnit: a socket that the manager has from a socket unit is used again and again, and the
// manager is not asked to store or to forget it.
func TestSocketUnit(t *testing.T) {
	spec.Covers(t, "OP-81")
	k := newKeeper(t)
	unit, file := listenTCP(t)
	s := k.process(t, "lnetd.socket", file)
	for range 2 {
		l, _ := listen(t, s, addressOf(unit.Addr()))
		s.Started()
		c, err := net.Dial("tcp", unit.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		accepts(t, l, c.LocalAddr())
		_ = c.Close()
		_ = l.Close()
	}
	s.manager.Ready("")
	if text := k.await(t, ""); !strings.HasPrefix(text, "READY=1") {
		t.Errorf("the first message is %q", text)
	}
}

// TestNoStore: without a manager, and with one that does not answer, a process listens all the same.
func TestNoStore(t *testing.T) {
	spec.Covers(t, "OP-80")
	for address, logs := range map[string]bool{"": false, filepath.Join(t.TempDir(), "missing"): true} {
		var log bytes.Buffer
		m := New(environment(map[string]string{"NOTIFY_SOCKET": address}), slog.New(slog.NewTextHandler(&log, nil)))
		s := m.Sockets(inherit(environment(nil), firstDescriptor))
		l, local := listen(t, s, anyPort)
		s.Started()
		_ = l.Close()
		listen(t, s, local)
		if strings.Contains(log.String(), "does not keep a socket") != logs {
			t.Errorf("%q: log %s", address, &log)
		}
	}
}
