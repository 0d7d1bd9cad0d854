package capture_test

import (
	"encoding/binary"
	"runtime"
	"testing"
	"time"

	"ulnet/lnd/capture"
)

// gapped is a dissector with connections that all miss the byte behind their SYN.
type gapped struct {
	*capture.Dissector
	lost uint64 // bytes given up
}

func newGapped(ports ...uint16) *gapped {
	g := &gapped{}
	g.Dissector = capture.NewDissector(capture.Options{KeepPayload: -1}, func(r *capture.Record) {
		if r.Kind == capture.Lost {
			g.lost += r.Length
		}
	})
	for _, port := range append(ports, 1023) {
		g.send(port, segment{flags: synFlag})
	}
	return g
}

// send dissects a segment that has another source port.
func (g *gapped) send(port uint16, s segment) {
	frame := s.frame()
	binary.BigEndian.PutUint16(frame[14+20:], port)
	g.Packet(time.Unix(1, 0), capture.LinkEthernet, frame)
}

// TestReleaseTakesNoCopies: a packet that releases thousands of segments costs no memory for each of
// them, however many bytes wait behind it.
func TestReleaseTakesNoCopies(t *testing.T) {
	stream := bulkStream(4)
	g := newGapped()
	const first = 1000 // HELLO, and the headers and the beginning of a PUT
	waited := 0
	for at := first; at < len(stream) && waited < 3000; at += 1000 {
		g.send(1023, segment{seq: uint32(1 + at), flags: ackFlag, data: stream[at:min(at+1000, len(stream))]})
		waited++
	}
	if n, _, _ := g.Waiting(); n != waited || n < 3000 {
		t.Fatalf("%d of %d segments wait", n, waited)
	}
	frame := segment{seq: 1, flags: ackFlag, data: stream[:first]}.frame()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g.Packet(time.Unix(1, 0), capture.LinkEthernet, frame)
	runtime.ReadMemStats(&after)
	if n, _, _ := g.Waiting(); n != 0 || g.lost != 0 {
		t.Errorf("%d segments wait still, %d bytes are lost", n, g.lost)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes allocated for %d segments", n, waited)
	}
}
