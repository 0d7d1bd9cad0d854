package capture_test

import (
	"bytes"
	"context"
	"io"
	"testing"

	"ulnet/lnd/capture"
)

// viewing is a viewer whose output can be read while it runs.
type viewing struct {
	*io.PipeReader
	cancel context.CancelFunc
	ended  chan error
}

func view(t *testing.T, w *capture.Writer) *viewing {
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	v := &viewing{in, cancel, make(chan error, 1)}
	go func() {
		err := w.View(ctx, out)
		out.Close()
		v.ended <- err
	}()
	t.Cleanup(func() { cancel(); in.Close() })
	return v
}

// TestViewInMidStream attaches a viewer at every point of a capture of pings: the viewer gets
// the handshakes of all connections and every later message.
func TestViewInMidStream(t *testing.T) {
	for _, file := range []string{"tcp-ping.pcap", "tcp6-ping-discover.pcap", "tcp-proto-v1-passive.pcap", "tcp-proto-v2-passive.pcap"} {
		t.Run(file, func(t *testing.T) {
			list, n := runs(t, "testdata/"+file)
			for cut := range len(list) + 1 {
				viewFrom(t, list, n, cut)
			}
		})
	}
}

func viewFrom(t *testing.T, list []run, n, cut int) {
	w, err := capture.NewWriter(nil, clock())
	if err != nil {
		t.Fatal(err)
	}
	flows := taps(w, n, true)
	play(flows, list[:cut], capture.Initiator)
	v := view(t, w)
	if _, err := io.ReadFull(v, make([]byte, 1)); err != nil { // the first byte of output shows that the viewer is attached
		t.Fatal(err)
	}
	play(flows, list[cut:], capture.Initiator)
	var got []seen
	decoded := make(chan struct{})
	go func() {
		defer close(decoded)
		got = decodeStream(t, io.MultiReader(bytes.NewReader([]byte{0x0a}), v))
	}()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	<-decoded
	if err := <-v.ended; err != nil {
		t.Fatal(err)
	}
	type count struct{ handshake, later, strange int }
	var have, want count
	for i, r := range list {
		switch {
		case isHandshake(r.bytes):
			want.handshake++
		case i >= cut:
			want.later++
		}
	}
	for _, r := range got {
		switch r.Kind {
		case capture.Request, capture.Hello:
			have.handshake++
		case capture.Message, capture.Noop:
			have.later++
		case capture.Unknown, capture.Lost, capture.MidStream:
			have.strange++
		}
	}
	if have != want {
		t.Errorf("attached after %d of %d runs: %+v, want %+v", cut, len(list), have, want)
	}
}

// isHandshake distinguishes requests and HELLOs from messages.
func isHandshake(b []byte) bool {
	return b[0] == 0x00 || b[0] == 0x63 || b[0] == 0xed
}

// TestSlowViewer stops reading while more is captured than may wait for the viewer. The end
// of the viewer's output gives the number of missing packets.
func TestSlowViewer(t *testing.T) {
	w, err := capture.NewWriter(nil, clock())
	if err != nil {
		t.Fatal(err)
	}
	flows := taps(w, 1, true)
	v := view(t, w)
	if _, err := io.ReadFull(v, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	list := bulkRuns(0)
	for range 20 {
		play(flows, list, capture.Initiator)
	}
	if w.Dropped() == 0 {
		t.Error("nothing was dropped")
	}
	var got []seen
	decoded := make(chan struct{})
	go func() {
		defer close(decoded)
		got = decodeStream(t, io.MultiReader(bytes.NewReader([]byte{0x0a}), v))
	}()
	flows[0].Close()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	<-decoded
	messages, lost := 0, 0
	for _, r := range got {
		switch r.Kind {
		case capture.Message:
			messages++
		case capture.Lost:
			lost++
		}
	}
	if messages < 5 || messages > 10 {
		t.Errorf("the viewer got %d messages and %d losses", messages, lost)
	}
}

// TestViewToTheEnd: what was captured before the end of a view is in its output, with the number of
// packets that are missing.
func TestViewToTheEnd(t *testing.T) {
	list := bulkRuns(0)
	if got, dropped := viewStalled(t, list, list, list, list, list, list, list, list, list); len(got) < 5 || dropped == 0 {
		t.Errorf("%d records, %d packets dropped", len(got), dropped)
	}
	for range 10 { // packets and the end come to the viewer at the same time, and it handles one of them first at random: so try ten times
		if got, dropped := viewStalled(t, list[:2]); len(got) != 5 || dropped != 0 {
			t.Errorf("%d records of 5, %d packets dropped", len(got), dropped)
		}
	}
}

// viewStalled captures the runs of all lists while the output of a viewer takes nothing, and then
// ends the view.
func viewStalled(t *testing.T, lists ...[]run) (got []seen, dropped uint64) {
	t.Helper()
	w, err := capture.NewWriter(nil, clock())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := &stalling{begun: make(chan struct{}, 1), goOn: make(chan struct{})}
	ended := make(chan error)
	go func() { ended <- w.View(ctx, out) }()
	<-out.begun
	flows := taps(w, 1, true)
	for _, list := range lists {
		play(flows, list, capture.Initiator)
	}
	dropped = w.Dropped()
	cancel()
	close(out.goOn)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if out.dropped != dropped || w.Dropped() != dropped {
		t.Errorf("%d packets were dropped, and the viewer knows %d, the capture then %d", dropped, out.dropped, w.Dropped())
	}
	return decodeStream(t, &out.Buffer), dropped
}

// stalling is the output of a viewer that takes nothing until it may go on.
type stalling struct {
	bytes.Buffer
	begun, goOn chan struct{}
	dropped     uint64
}

// Write implements io.Writer.
func (s *stalling) Write(b []byte) (int, error) {
	select {
	case s.begun <- struct{}{}:
	default:
	}
	<-s.goOn
	return s.Buffer.Write(b)
}

// Dropped gets the number of packets that are missing.
func (s *stalling) Dropped(packets uint64) { s.dropped = packets }

// TestManyViewers: a viewer beyond the allowed number gets ErrViewers.
func TestManyViewers(t *testing.T) {
	w, err := capture.NewWriter(nil, clock())
	if err != nil {
		t.Fatal(err)
	}
	for {
		ended := make(chan error, 1)
		started := make(chan struct{}, 1)
		go func() { ended <- w.View(t.Context(), startWriter{started}) }()
		select {
		case <-started:
			continue
		case err = <-ended:
		}
		break
	}
	if err != capture.ErrViewers {
		t.Errorf("the last viewer: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// startWriter sends to a channel when something is written.
type startWriter struct{ started chan<- struct{} }

func (s startWriter) Write(b []byte) (int, error) {
	select {
	case s.started <- struct{}{}:
	default:
	}
	return len(b), nil
}
