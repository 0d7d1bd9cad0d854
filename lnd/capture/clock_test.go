package capture_test

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/capture"
)

// TestClockSetBack: if the clock of the capture is set back, gaps are given up after the usual time.
func TestClockSetBack(t *testing.T) {
	g := newGapped()
	at := func(at time.Duration, seq uint32) {
		g.Packet(time.Unix(1, 0).Add(at), capture.LinkEthernet, segment{seq: seq, flags: ackFlag, data: make([]byte, 5)}.frame())
	}
	at(time.Hour, 11)
	at(time.Hour+3*time.Second, 16)
	if g.lost != 10 {
		t.Fatalf("%d bytes lost before, want 10", g.lost)
	}
	at(time.Hour+4*time.Second, 31)
	for i := range time.Duration(4) {
		at(i*time.Second, 51+5*uint32(i))
	}
	if g.lost != 10+10+15 {
		t.Errorf("%d bytes lost, want those of three gaps", g.lost)
	}
}

// TestTwoClocks: segments are put in order as usual if the devices of a capture have clocks that differ, so that the stamps
// go back and forth.
func TestTwoClocks(t *testing.T) {
	for _, ahead := range []time.Duration{time.Hour, -time.Hour, 3 * time.Second} { // of the acceptor's clock
		s := conversation(20)
		i := gets + 2*10
		first, second, again := s.list[i], s.list[i], s.list[i+1]
		first.data, second.data, again.data = first.data[:40], first.data[40:], nil
		second.seq += 40
		again.ack = first.seq
		list := slices.Concat(s.list[:i], []timed{second, again, first}, s.list[i+1:])
		for i := range list {
			if list[i].back {
				list[i].at += ahead
			}
		}
		if got := outcomeOf(list); got.messages != 40 || got.lost != 0 {
			t.Errorf("%v: %+v", ahead, got)
		}
	}
}

// TestTimeOnTwoClocks: if packets have the stamps of two clocks, time passes only once: a segment waits for two
// seconds, not for one.
func TestTimeOnTwoClocks(t *testing.T) {
	for end, want := range map[time.Duration]uint64{1800 * time.Millisecond: 0, 4 * time.Second: 10} {
		g := newGapped(2000)
		g.put(11, 5)
		for at := time.Duration(0); at < end; at += 100 * time.Millisecond {
			for _, ahead := range []time.Duration{0, -time.Hour} {
				g.Packet(time.Unix(1, 0).Add(at+ahead), capture.LinkEthernet, segment{seq: 30, flags: ackFlag}.frame())
			}
		}
		if g.lost != want {
			t.Errorf("after %v: %d bytes lost, want %d", end, g.lost, want)
		}
	}
}

// TestHostileClock: no sequence of stamps can make the dissector go through all open connections at each packet.
func TestHostileClock(t *testing.T) {
	d := capture.NewDissector(capture.Options{}, func(*capture.Record) {})
	packet := func(at time.Duration, port uint16, s segment) {
		frame := s.frame()
		binary.BigEndian.PutUint16(frame[14+20:], port)
		d.Packet(time.Unix(1, 0).Add(at), capture.LinkEthernet, frame)
	}
	const open, packets = 10_000, 2000
	for i := range uint16(open) {
		packet(0, 2000+i, segment{flags: synFlag})
	}
	packet(0, 2000, segment{seq: 3, flags: ackFlag, data: []byte{0}})
	flushes := 0
	for i := range uint32(packets) {
		packet(time.Duration(i)*2*time.Second, 2001, segment{seq: 1 + i, flags: ackFlag, data: []byte{0}})
		if d.SinceFlush() == 0 {
			flushes++
		}
	}
	if n := flushes * open; n == 0 || n > 100*packets {
		t.Errorf("%d packets make the dissector look at %d connections", packets, n)
	}
}
