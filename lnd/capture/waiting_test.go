package capture_test

import (
	"encoding/binary"
	"runtime"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ulnet/lnd/capture"
)

// pageSize is the number of waiting bytes that count as one page.
const pageSize = 2 << 10

// gapped is a dissector whose capture lacks the byte behind the SYN of each connection, so that all later
// bytes wait for it.
type gapped struct {
	*capture.Dissector
	lost uint64 // number of missing bytes that the dissector has given up
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

// send dissects a segment, with the given source port in place of the usual one.
func (g *gapped) send(port uint16, s segment) {
	frame := s.frame()
	binary.BigEndian.PutUint16(frame[14+20:], port)
	g.Packet(time.Unix(1, 0), capture.LinkEthernet, frame)
}

// put dissects a segment with n bytes of data that begins at sequence number seq.
func (g *gapped) put(seq uint32, n int) {
	g.send(1023, segment{seq: seq, flags: ackFlag, data: make([]byte, n)})
}

// check checks the bounds of the segments that wait behind gaps.
func (g *gapped) check(t interface{ Fatalf(string, ...any) }) {
	segments, pages, size := g.Waiting()
	if segments > pages || pages >= capture.MaxWaitingPerSide || size > pages*pageSize {
		t.Fatalf("%d segments with %d bytes wait, counted as %d pages", segments, size, pages)
	}
	if n := g.Counts().Broken; n != 0 {
		t.Fatalf("%d connections are broken", n)
	}
}

// TestWaitingIsBounded: whatever the sizes and the order of segments behind a gap, the memory that
// they take is bounded after each packet, because the assembler gives up gaps.
func TestWaitingIsBounded(t *testing.T) {
	const large, far = 60 << 10, 1 << 20
	tiny := func(g *gapped, n uint32) { // leaves n segments with gaps between them
		for i := range n {
			g.put(2+2*i, 1)
		}
	}
	for name, give := range map[string]func(t *testing.T, g *gapped){
		"tiny ones backwards": func(t *testing.T, g *gapped) {
			for i := range uint32(5000) {
				g.put(40000-2*i, 1)
			}
		},
		"large ones behind tiny ones": func(t *testing.T, g *gapped) {
			tiny(g, 4000)
			for i := range uint32(8) {
				g.put(far+i*far, large)
				g.check(t)
			}
		},
		"a large one, divided again and again": func(t *testing.T, g *gapped) {
			tiny(g, 4000)
			g.put(far, large)
			for i := range uint32(300) {
				g.put(far+1+2*i, 1)
				g.check(t)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGapped()
			give(t, g)
			g.check(t)
			if g.lost == 0 {
				t.Error("no gap is given up")
			}
		})
	}
}

// TestWaitingMemory: segments that wait keep no more memory alive than they are counted for, and segments
// that wait no longer keep none.
func TestWaitingMemory(t *testing.T) {
	const large = 60 << 10
	ports := make([]uint16, 32)
	for i := range ports {
		ports[i] = uint16(2000 + i)
	}
	for name, give := range map[string]func(g *gapped){
		"heads": func(g *gapped) {
			for i := range uint32(150) {
				g.put(100+i, large)
			}
		},
		"tails": func(g *gapped) {
			for i := range uint32(150) {
				g.put(1000-i, large)
			}
		},
		"released": func(g *gapped) {
			for i := range uint32(100) {
				g.put(2+i*large, large)
			}
			g.put(1<<30, 1)
			g.put(1, 1)
		},
		"less than half released": func(g *gapped) {
			for i := range uint32(48) {
				g.put(2+i*large, large)
			}
			for i := range uint32(52) {
				g.put(10<<20+i*(large+1), large)
			}
			g.put(1, 1)
		},
		"queues": func(g *gapped) {
			for _, port := range ports {
				for i := range uint32(1000) {
					g.send(port, segment{seq: 2 + 2*i, flags: ackFlag, data: []byte{0}})
				}
				g.send(port, segment{seq: 1, flags: ackFlag, data: make([]byte, 2000)})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGapped(ports...)
			before := heap()
			give(g)
			g.check(t)
			_, pages, _ := g.Waiting()
			if grown := heap() - before; grown > int64(pages*pageSize+1<<20) {
				t.Errorf("%d KiB are alive, counted as %d pages", grown>>10, pages)
			}
			runtime.KeepAlive(g)
		})
	}
}

// heap returns how many bytes on the heap are in use after a garbage collection.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestReleaseTakesNoCopies: a packet that releases thousands of segments costs no memory for each of
// them, however many bytes wait behind it.
func TestReleaseTakesNoCopies(t *testing.T) {
	stream := bulkStream(4)
	g := newGapped()
	const first = 1000 // length of the missing beginning of the stream: a HELLO, the headers of a PUT and the beginning of its payload
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

// TestHostileSegments: segments of all sizes arrive in every order, with sequence numbers that are nearly
// or just too far apart to be compared. The memory stays within its bounds, the segments wait in order,
// and no connection is given up.
func TestHostileSegments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGapped()
		seqs := rapid.OneOf(rapid.Uint32Range(1, 300), rapid.Uint32Range(1<<31-300, 1<<31+300), rapid.Uint32Range(1<<32-300, 1<<32-1), rapid.Uint32())
		sizes := rapid.OneOf(rapid.IntRange(0, 9), rapid.IntRange(0, 300), rapid.Just(60<<10))
		for range rapid.IntRange(1, 60).Draw(t, "segments") {
			g.put(seqs.Draw(t, "sequence number"), sizes.Draw(t, "size"))
			if g.check(t); !g.WaitsInOrder() {
				t.Fatal("the segments that wait are out of order")
			}
		}
		g.Close()
		if _, pages, _ := g.Waiting(); pages != 0 {
			t.Fatalf("%d pages wait after the end", pages)
		}
	})
}

// TestRepeatedEnd: a FIN that waits for earlier bytes is not lost when its segment's bytes come again
// without a FIN.
func TestRepeatedEnd(t *testing.T) {
	const finFlag = 0x01
	for name, again := range map[string][]segment{
		"behind the gap": {{seq: 3, data: make([]byte, 8)}, {seq: 1, data: make([]byte, 2)}},
		"with the gap":   {{seq: 1, data: make([]byte, 10)}},
	} {
		g, closed := newGapped(), false
		g.Dissector = capture.NewDissector(capture.Options{}, func(r *capture.Record) { closed = r.Kind == capture.Closed })
		g.send(1023, segment{flags: synFlag})
		g.send(1023, segment{seq: 3, flags: ackFlag | finFlag, data: make([]byte, 8)})
		for _, s := range again {
			s.flags = ackFlag
			g.send(1023, s)
		}
		if n, _, _ := g.Waiting(); n != 0 {
			t.Errorf("%s: %d segments wait", name, n)
		}
		if closed {
			t.Errorf("%s: closed by one side", name)
		}
		if g.send(988, segment{back: true, seq: 1, flags: ackFlag | finFlag}); !closed {
			t.Errorf("%s: the connection is open", name)
		}
	}
}
