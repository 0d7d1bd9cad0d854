package replay_test

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ulnet/lnd"
	"ulnet/lnd/lndtest"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/o2iblnd/internal/replay"
	"ulnet/lnd/verbs/ibta"
)

// rawHost is a recorded node on a real network: it sends IP packets as they were
// recorded, with the kernel's identification, source port and a UDP checksum of 0.
type rawHost struct {
	raw   int
	in    *net.UDPConn
	heard chan struct{} // gets a value when a packet has arrived
	err   chan error    // error of a failed send
}

func newRawHost(h *netlab.Host, addr netip.Addr) (*rawHost, error) {
	r := &rawHost{raw: -1, heard: make(chan struct{}, 1), err: make(chan error, 1)}
	err := h.Do(func() (err error) {
		if r.in, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, ibta.Port))); err != nil {
			return err
		}
		if r.raw, err = unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW); err != nil {
			return os.NewSyscallError("socket", err)
		}
		c, err := r.in.SyscallConn()
		if err != nil {
			return err
		}
		const buffer = 4 << 20
		return errors.Join(c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, buffer) }), err)
	})
	return r, err
}

// send sends a packet (replay.Player.Send).
func (r *rawHost) send(d replay.Datagram) {
	const ttl, udp = 64, 17
	n := ibta.IPv4Size + ibta.UDPSize + len(d.Bytes)
	src, dst := d.From.Addr().As4(), d.To.Addr().As4()
	b := []byte{0x45, d.Class}
	b = binary.BigEndian.AppendUint16(b, uint16(n))
	b = binary.BigEndian.AppendUint16(b, d.ID)
	b = binary.BigEndian.AppendUint16(b, ibta.DontFragment)
	b = append(b, ttl, udp, 0, 0) // total length 0 and checksum 0: the system computes them
	b = append(append(b, src[:]...), dst[:]...)
	b = binary.BigEndian.AppendUint16(b, d.From.Port())
	b = binary.BigEndian.AppendUint16(b, d.To.Port())
	b = binary.BigEndian.AppendUint16(b, uint16(n-ibta.IPv4Size))
	b = append(append(b, 0, 0), d.Bytes...)
	if err := unix.Sendto(r.raw, b, 0, &unix.SockaddrInet4{Addr: dst}); err != nil {
		select {
		case r.err <- os.NewSyscallError("sendto", err):
		default:
		}
	}
}

// receive passes the packets that arrive to the player, until the socket is closed.
func (r *rawHost) receive(p *replay.Player, addr netip.Addr) {
	b := make([]byte, 1<<16)
	for {
		n, from, err := r.in.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		p.Arrived(replay.Datagram{From: from, To: netip.AddrPortFrom(addr, ibta.Port), Bytes: b[:n]})
		select {
		case r.heard <- struct{}{}:
		default:
		}
	}
}

func (r *rawHost) close() error { return errors.Join(r.in.Close(), unix.Close(r.raw)) }

// play steps the player until the script is over.
func (r *rawHost) play(p *replay.Player) error {
	const patience, tick = time.Minute, 5 * time.Millisecond
	for quiet := time.Now(); !p.Done() && p.Err() == nil && time.Since(quiet) < patience; {
		if p.Step() {
			quiet = time.Now()
			continue
		}
		select {
		case <-r.heard:
		case err := <-r.err:
			return err
		case <-time.After(tick):
		}
	}
	return p.Rest()
}

// hurry is the factor by which pauses are shorter than in the recording.
const hurry = 40

// TestReplayOverSockets replays pings and bulk over UDP in network namespaces with the recorded
// addresses. The host's packets are those of the kernel from the IP header on. The system
// computes the checksum of that header, with the same result.
func TestReplayOverSockets(t *testing.T) {
	for _, file := range []string{activePing, passivePing, bulk} {
		s := load(t, file)
		for _, host := range s.Hosts() {
			t.Run(filepath.Base(file)+"/we are "+s.Other(host).String(), func(t *testing.T) { replayOverSockets(t, s, host) })
		}
	}
}

func replayOverSockets(t *testing.T, s *replay.Script, host netip.Addr) {
	lab := netlab.New(t)
	ours, theirs := lab.Host("ours"), lab.Host("theirs")
	lab.Cable(ours, s.Other(host).String()+"/24", theirs, host.String()+"/24")
	r, err := newRawHost(theirs, host)
	if err != nil {
		t.Fatal(err)
	}
	n := prepare(t, s, host)
	began := time.Now()
	n.Player.Send, n.Player.Elapsed = r.send, func() time.Duration { return hurry * time.Since(began) }
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.receive(n.Player, host)
	}()
	enough := func(c *o2iblnd.Config, _ *lnd.Config) { c.ReceiveBuffer = 4 << 20 }
	if err := ours.Do(func() error { return n.start(s, nil, enough) }); err != nil {
		t.Fatal(err)
	}
	if c := s.Conns()[0]; c.Adopted {
		n.adopt(c, s.Numbers(host).Stamp)
	}
	if err := r.play(n.Player); err != nil {
		t.Error(err)
	}
	if !lndtest.Poll(func() bool { return n.up.check(n.sent) == nil }) { // the last ACK may still be on its way
		t.Error(n.up.check(n.sent))
	}
	n.close()
	if err := r.close(); err != nil {
		t.Error(err)
	}
	<-done
}
