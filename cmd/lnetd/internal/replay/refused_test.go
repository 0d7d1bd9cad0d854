//go:build linux

package replay_test

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/cmd/lnetd/internal/replay"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/socklnd"
)

// replayRefusedPassive makes lnetd take the place of the recorded node that does not listen:
// lnetd has no listener, and the kernel answers a SYN with RST.
func replayRefusedPassive(t *testing.T, commands lnetdtest.Commands) {
	script := load(t, "tcp-err-refused")
	s := newStage(t, commands, script, replay.Acceptor, "tcp", "accept: none")
	ends := script.Conns[0].Ends
	c, err := s.dial(t.Context(), ends[replay.Initiator], ends[replay.Acceptor])
	if err == nil {
		c.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial: %v, want ECONNREFUSED", err)
	}
}

// replayRefusedActive makes lnetd ping an address where no process listens. lnetd sends one SYN
// from the first reserved port, reports an error at once, and sends no other SYN during the
// back-off, however many pings follow.
func replayRefusedActive(t *testing.T, commands lnetdtest.Commands) {
	script := load(t, "tcp-err-refused")
	s := newStage(t, commands, script, replay.Initiator, "tcp", "min_reconnectms: 30000") // long enough for two pings on a busy machine
	syns := listenSYN(t, s.player)
	pings := s.pings(t, "tcp")
	for range 2 {
		pings.start()
		took, err := pings.wait()
		if err == nil {
			t.Error("ping was answered")
		}
		if took > atOnce {
			t.Errorf("ping took %v", took)
		}
		want := []netip.AddrPort{script.Conns[0].Ends[replay.Initiator]}
		if diff := cmp.Diff(want, syns.sources(t), cmpopts.EquateComparable(netip.AddrPort{})); diff != "" {
			t.Fatalf("SYN from (-want +got):\n%s", diff)
		}
	}
	if n := s.daemon.Count(socklnd.ConnectFailed); n != 1 {
		t.Errorf("%v counts %d, want 1", socklnd.ConnectFailed, n)
	}
	if n := s.daemon.Count(socklnd.TooSoon); n != 1 {
		t.Errorf("%v counts %d, want 1", socklnd.TooSoon, n)
	}
}

// synListener records the SYNs that arrive at a host.
type synListener struct {
	fd   int
	seen []netip.AddrPort
}

func listenSYN(t *testing.T, h *netlab.Host) *synListener {
	t.Helper()
	l := &synListener{fd: -1}
	err := h.Do(func() (err error) {
		const flags = syscall.SOCK_DGRAM | syscall.SOCK_NONBLOCK | syscall.SOCK_CLOEXEC
		l.fd, err = syscall.Socket(syscall.AF_PACKET, flags, int(htons(syscall.ETH_P_IP)))
		return err
	})
	if err != nil {
		t.Fatalf("packet socket: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Close(l.fd) })
	return l
}

// htons returns a number whose bytes in memory are those of v in network order.
func htons(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}

// sources returns the sources of all SYNs so far.
func (l *synListener) sources(t *testing.T) []netip.AddrPort {
	t.Helper()
	var b [256]byte
	for {
		n, _, err := syscall.Recvfrom(l.fd, b[:], 0)
		if errors.Is(err, syscall.EAGAIN) {
			return l.seen
		}
		if err != nil {
			t.Fatalf("packet socket: %v", err)
		}
		if from, ok := synSource(b[:n]); ok {
			l.seen = append(l.seen, from)
		}
	}
}

// synSource returns the source of an IPv4 packet that is a SYN.
func synSource(b []byte) (netip.AddrPort, bool) {
	const tcp = 6
	if len(b) < 20 || b[9] != tcp {
		return netip.AddrPort{}, false
	}
	header := int(b[0]&15) * 4
	if len(b) < header+14 || b[header+13]&(1<<1|1<<4) != 1<<1 { // the packet is not a SYN without ACK
		return netip.AddrPort{}, false
	}
	addr, _ := netip.AddrFromSlice(net.IP(b[12:16]))
	return netip.AddrPortFrom(addr, binary.BigEndian.Uint16(b[header:])), true
}
