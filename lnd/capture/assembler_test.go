package capture_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"ulnet/lnd/capture"
)

// TestAnyOrder: whatever the order, the overlaps and the repetitions in which the segments of a stream
// are captured, and wherever its sequence numbers begin, the records are those of the stream, in order,
// and each record comes once.
func TestAnyOrder(t *testing.T) {
	stream := bulkStream(1)[:16<<10]
	want := kindsOf(func(feed func(seq uint32, data []byte)) { feed(0, stream) }, 1000)
	rapid.Check(t, func(t *rapid.T) {
		isn := rapid.OneOf(rapid.Uint32(), rapid.Uint32Range(1<<32-1<<16, 1<<32-1)).Draw(t, "first sequence number")
		got := kindsOf(func(feed func(seq uint32, data []byte)) {
			cuts := rapid.Permutation(pieces(t, len(stream))).Draw(t, "order")
			for _, c := range cuts {
				feed(uint32(c[0]), stream[c[0]:c[1]])
			}
		}, isn)
		if got != want {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
}

// pieces divides n bytes into pieces, of which some overlap.
func pieces(t *rapid.T, n int) (list [][2]int) {
	for at := 0; at < n; {
		end := min(n, at+rapid.IntRange(1, n/4).Draw(t, "length"))
		list = append(list, [2]int{max(0, at-rapid.IntRange(0, 9).Draw(t, "overlap")), end})
		at = end
	}
	return list
}

// sums has the numbers of records that a Dissector has made of a stream, by kind, and of their bytes.
type sums struct {
	hellos, messages, lost int
	bytes, missing         uint64
}

// kindsOf dissects the data of one connection, which the function give passes to its parameter
// feed.
func kindsOf(give func(feed func(seq uint32, data []byte)), isn uint32) (s sums) {
	d := capture.NewDissector(capture.Options{KeepPayload: -1}, func(r *capture.Record) {
		switch r.Kind {
		case capture.Hello:
			s.hellos++
		case capture.Message:
			s.messages++
			s.missing += uint64(r.Missing)
		case capture.Lost:
			s.lost++
		}
		s.bytes += r.Length
	})
	at := time.Unix(1, 0)
	d.Packet(at, capture.LinkEthernet, segment{seq: isn, flags: synFlag}.frame())
	give(func(seq uint32, data []byte) {
		for len(data) > 0 {
			n := min(len(data), 1448)
			d.Packet(at, capture.LinkEthernet, segment{seq: isn + 1 + seq, flags: ackFlag, data: data[:n]}.frame())
			seq, data = seq+uint32(n), data[n:]
		}
	})
	d.Close()
	return s
}
