package capture_test

import (
	"bytes"
	order "cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/capture"
	"ulnet/lnd/capture/capturetest"
)

// clock returns a now function that advances by a second and a nanosecond at each call. The
// nanosecond is there to test that files keep the full precision of time stamps.
func clock() func() time.Time {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return func() time.Time {
		at = at.Add(time.Second + 1)
		return at
	}
}

// run has consecutive bytes that one side of a connection has sent.
type run struct {
	conn  int
	from  capture.Side
	bytes []byte
}

// runs returns the records of a capture as runs of bytes, in order, and the
// number of connections.
func runs(t *testing.T, file string) (list []run, conns int) {
	t.Helper()
	ids := map[*capture.Conn]int{}
	decodeFile(t, file, func(r *capture.Record) {
		if r.Kind == capture.Opened {
			ids[r.Conn] = len(ids)
		}
		if r.Length > 0 {
			list = append(list, run{ids[r.Conn], r.From, bytes.Clone(r.Raw)})
		}
	})
	return list, len(ids)
}

// taps begins n connections and returns their flows.
func taps(w *capture.Writer, n int, dialled bool) []lnd.Flow {
	flows := make([]lnd.Flow, n)
	for i := range flows {
		port := uint16(1023 - i)
		here, there := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
		if dialled {
			flows[i] = w.Flow(netip.AddrPortFrom(here, port), netip.AddrPortFrom(there, 7988), true)
		} else {
			flows[i] = w.Flow(netip.AddrPortFrom(here, 7988), netip.AddrPortFrom(there, port), false)
		}
	}
	return flows
}

// play passes runs of bytes to the flows of a driver. The parameter local says which side the
// driver is.
func play(flows []lnd.Flow, list []run, local capture.Side) {
	for _, r := range list {
		if r.from == local {
			flows[r.conn].Sent(r.bytes)
		} else {
			flows[r.conn].Received(r.bytes)
		}
	}
}

// seen has those fields of a record that stay the same when a Writer records its bytes again.
type seen struct {
	Conn   int
	From   capture.Side
	Kind   capture.Kind
	Offset uint64
	Raw    string
	Err    error
}

func decodeStream(t testing.TB, r io.Reader) (list []seen) {
	t.Helper()
	in, err := capture.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	d := capture.NewDissector(capture.Options{KeepPayload: 1 << 20}, func(r *capture.Record) {
		list = append(list, seen{r.Conn.ID, r.From, r.Kind, r.Offset, string(r.Raw), r.Err})
	})
	for {
		p, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		d.Packet(p.Time, p.Link, p.Data)
	}
	d.Close()
	return list
}

// inOrder compares records by connection, side and offset in the stream.
func inOrder(a, b seen) int {
	return order.Or(order.Compare(a.Conn, b.Conn), order.Compare(a.From, b.From), order.Compare(a.Offset, b.Offset))
}

func compareErrors(a, b error) bool { return errors.Is(a, b) || errors.Is(b, a) }

// TestWriterKeepsEverything passes captures of kernels through a Writer: the records of the
// new file equal the original ones, and tshark agrees.
func TestWriterKeepsEverything(t *testing.T) {
	files, _ := filepath.Glob("testdata/tcp*.pcap")
	for _, file := range files {
		for _, dialled := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/dialled=%v", filepath.Base(file), dialled), func(t *testing.T) {
				var want []seen
				decodeFile(t, file, func(r *capture.Record) {
					if r.Length > 0 {
						want = append(want, seen{r.Conn.ID, r.From, r.Kind, r.Offset, string(r.Raw), r.Err})
					}
				})
				local := capture.Acceptor
				if dialled {
					local = capture.Initiator
				}
				list, n := runs(t, file)
				var out bytes.Buffer
				w, err := capture.NewWriter(&out, clock())
				if err != nil {
					t.Fatal(err)
				}
				flows := taps(w, n, dialled)
				play(flows, list, local)
				for _, f := range flows {
					f.Close()
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				var got []seen
				closed := 0
				for _, r := range decodeStream(t, bytes.NewReader(out.Bytes())) {
					if r.Kind == capture.Closed && r.Err == nil {
						closed++
					} else if r.Kind != capture.Opened {
						got = append(got, r)
					}
				}
				slices.SortFunc(want, inOrder) // the Decoder reports a run of bytes without meaning only when it ends
				slices.SortFunc(got, inOrder)
				if diff := cmp.Diff(want, got, cmp.Comparer(compareErrors)); diff != "" || closed != n {
					t.Errorf("%d of %d connections closed (-want +got):\n%s", closed, n, diff)
				}
			})
		}
	}
}

func TestWriterAgreesWithTshark(t *testing.T) {
	list, n := runs(t, "testdata/tcp-ping-race.pcap")
	list = append(list, bulkRuns(n)...)
	file := filepath.Join(t.ArtifactDir(), "writer.pcapng")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w, err := capture.NewWriter(f, clock())
	if err != nil {
		t.Fatal(err)
	}
	flows := taps(w, n+1, true)
	play(flows, list, capture.Initiator)
	for _, f := range flows {
		f.Close()
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	capturetest.AgreeWithTshark(t, file)
}

// TestWriterFile: a file has the packets of one connection in their order. Long runs of bytes are divided
// into packets of 32 KiB, what comes after Close is not recorded, and if both ends are in this process
// only one is recorded.
func TestWriterFile(t *testing.T) {
	var out bytes.Buffer
	w, err := capture.NewWriter(&out, clock())
	if err != nil {
		t.Fatal(err)
	}
	f := w.Flow(netip.MustParseAddrPort("[fd00::1]:10988"), netip.MustParseAddrPort("[fd00::2]:700"), false)
	again := w.Flow(netip.MustParseAddrPort("[fd00::2]:700"), netip.MustParseAddrPort("[fd00::1]:10988"), true)
	if again != nil {
		t.Error("both ends of one connection are captured")
	}
	f.Received(bytes.Repeat([]byte("x"), 70_000))
	f.Sent([]byte("y"))
	f.Close()
	f.Close()
	f.Sent([]byte("late"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var lengths []int
	r, err := capture.NewReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	var last capture.Packet
	for {
		p, err := r.Next()
		if err != nil {
			if err != io.EOF {
				t.Error(err)
			}
			break
		}
		lengths = append(lengths, len(p.Data)-60)
		last = capture.Packet{Time: p.Time, Link: p.Link, Length: p.Length}
	}
	if diff := cmp.Diff([]int{0, 0, 0, 32768, 32768, 4464, 1, 0, 0, 0}, lengths); diff != "" {
		t.Errorf("payload lengths (-want +got):\n%s", diff)
	}
	want := capture.Packet{Time: time.Date(2026, 1, 2, 3, 4, 9, 4, time.UTC), Link: capture.LinkRaw, Length: 60}
	if diff := cmp.Diff(want, last); diff != "" {
		t.Errorf("last packet (-want +got):\n%s", diff)
	}
}

// bulkRuns is a connection of v3 and a PUT of 1 MiB on it.
func bulkRuns(conn int) []run {
	return []run{
		{conn, capture.Initiator, unhex("0071ceac 01000000 0200000a00000200 63697245 03000000 0100000a00000200 0200000a00000200" +
			"39300000 00000000 8877665544332211 0000000000000000 01000000 00000000")},
		{conn, capture.Acceptor, unhex("63697245 03000000 0200000a00000200 0100000a00000200" +
			"39300000 00000000 8877665544332211 0000000000000000 01000000 00000000")},
		{conn, capture.Initiator, append(unhex("c1000000 00000000 0200000000000000 0000000000000000"+
			"0200000a00000200 0100000a00000200 39300000 39300000 01000000 00001000"+
			"ffffffffffffffffffffffffffffffff 9900000000000000 cdab000000000000 0c000000 04000000"),
			bytes.Repeat([]byte("payload!"), 1<<17)...)},
	}
}

// TestWriterPortsAreReused: a connection on the ports of an earlier one is captured, also if the driver has not closed the
// earlier one yet. Nothing that the driver does with the earlier one then is recorded.
func TestWriterPortsAreReused(t *testing.T) {
	for _, dialled := range []bool{true, false} {
		local := capture.Acceptor
		if dialled {
			local = capture.Initiator
		}
		list := bulkRuns(0)[:2]
		packets := recordWrites(t, func(w *capture.Writer) {
			first := taps(w, 1, dialled)
			play(first, list, local)
			second := taps(w, 1, dialled)
			if second[0] == nil {
				t.Fatalf("dialled %v: the second connection is not captured", dialled)
			}
			first[0].Sent([]byte("late"))
			first[0].Close()
			play(second, list, local)
		})
		want := []string{
			"1 ACCEPTOR", "1 HELLO", "1 HELLO", "1 kind 10 of 0 bytes",
			"2 ACCEPTOR", "2 HELLO", "2 HELLO", "2 kind 10 of 0 bytes: " + capture.ErrOpenEnd.Error(),
		}
		if diff := cmp.Diff(want, tell(packets)); diff != "" {
			t.Errorf("dialled %v (-want +got):\n%s", dialled, diff)
		}
	}
}

// TestWriterConcurrent is for the race detector: flows, viewers and counters
// come and go at the same time.
func TestWriterConcurrent(t *testing.T) {
	w, err := capture.NewWriter(io.Discard, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	list := bulkRuns(0)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 5 {
				f := w.Flow(netip.MustParseAddrPort("10.0.0.1:1000"), netip.AddrPortFrom(netip.MustParseAddr("10.0.0.2"), uint16(i*100+j)), i%2 == 0)
				var both sync.WaitGroup
				both.Go(func() {
					play([]lnd.Flow{f}, list[:1], capture.Initiator)
					play([]lnd.Flow{f}, list[2:], capture.Initiator)
				})
				both.Go(func() { play([]lnd.Flow{f}, list[1:2], capture.Initiator) })
				both.Wait()
				f.Close()
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			_ = w.View(ctx, cancelWriter{cancel})
			_ = w.Dropped()
			_ = w.Flush()
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := w.View(t.Context(), io.Discard); err != capture.ErrClosed {
		t.Errorf("View after Close: %v", err)
	}
	if f := w.Flow(netip.MustParseAddrPort("10.0.0.1:1"), netip.MustParseAddrPort("10.0.0.1:2"), true); f != nil {
		t.Error("Flow after Close captures")
	}
}

// cancelWriter ends its viewer when it gets the first bytes.
type cancelWriter struct{ cancel context.CancelFunc }

func (c cancelWriter) Write(b []byte) (int, error) { c.cancel(); return len(b), nil }

// TestWriterFailingFile: if the file fails, the flows still accept data, and Flush and Close return the
// first error of the file. NewWriter returns an error if it cannot write the beginning of the file.
func TestWriterFailingFile(t *testing.T) {
	out := &failing{room: 1000}
	w, err := capture.NewWriter(out, clock())
	if err != nil {
		t.Fatal(err)
	}
	play(taps(w, 1, true), bulkRuns(0), capture.Initiator)
	if err := w.Flush(); !errors.Is(err, errFull) {
		t.Errorf("Flush: %v", err)
	}
	if err := w.Close(); !errors.Is(err, errFull) {
		t.Errorf("Close: %v", err)
	}
	if _, err := capture.NewWriter(&failing{}, clock()); !errors.Is(err, errFull) {
		t.Errorf("NewWriter: %v", err)
	}
}

var errFull = errors.New("no space left")

type failing struct{ room int }

func (f *failing) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, errFull
	}
	return len(b), nil
}
