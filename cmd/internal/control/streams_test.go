package control_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	. "ulnet/cmd/internal/control"
)

func TestEvents(t *testing.T) {
	events := new(Events)
	d := serve(t, Config{Routes: (&fakeNode{}).routes(), Events: events})
	stream, err := NewClient(d.path).Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	log := slog.New(slog.NewJSONHandler(events, nil))
	log.Info("peer failed", slog.String("peer", "10.0.0.2@tcp"))
	line, err := bufio.NewReader(stream).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(line, `"msg":"peer failed","peer":"10.0.0.2@tcp"`) {
		t.Errorf("event %q", line)
	}
}

// TestStreamsLast: a stream on which the client sends nothing lasts longer than the timeout of
// a request.
func TestStreamsLast(t *testing.T) {
	events := new(Events)
	d := serve(t, Config{Routes: (&fakeNode{}).routes(), Events: events, RequestTimeout: 3 * time.Second})
	stream, err := NewClient(d.path).Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	d.talk(t, "GET /v1/status HTTP/1.1\r\n") // returns after the timeout of a request: its headers never end, so the daemon closes the connection
	fmt.Fprintln(events, "late")
	if line, err := bufio.NewReader(stream).ReadString('\n'); line != "late\n" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
}

// TestLongAnswer: an answer that takes longer than the timeout of a request is not cut off, because the
// context of its operation is not canceled.
func TestLongAnswer(t *testing.T) {
	long := Question[None, string]{Path: "/v1/long", Doc: "takes long"}
	asked, goOn := make(chan struct{}), make(chan struct{})
	d := serve(t, Config{RequestTimeout: 3 * time.Second, Routes: []Route{long.Do(func(ctx context.Context, _ None) (string, error) {
		close(asked)
		select {
		case <-goOn:
			return "answer", ctx.Err()
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})}})
	answers := make(chan error, 1)
	go func() {
		answer, err := long.Call(t.Context(), NewClient(d.path), None{})
		if err == nil && answer != "answer" {
			err = errors.New(answer)
		}
		answers <- err
	}()
	select {
	case <-asked:
	case err := <-answers:
		t.Fatal("no answer was asked for: ", err)
	}
	for range 2 {
		d.talk(t, "GET /v1/status HTTP/1.1\r\n") // the daemon closes this connection when the time for its headers is over
	}
	close(goOn)
	if err := wait(t, answers); err != nil {
		t.Error(err)
	}
}

// TestEventsNeverBlock: events for a slow listener are dropped. Their number is told where they are missing: before the next
// event, or at the end of the queue.
func TestEventsNeverBlock(t *testing.T) {
	var events Events
	slow := events.Listen()
	for i := range EventBacklog + 7 {
		fmt.Fprintln(&events, i)
	}
	for i := range EventBacklog {
		if n := events.TakeMissed(slow); n != 0 {
			t.Fatalf("%d events are said to be missing before event %d", n, i)
		}
		if got := string(<-slow.Lines()); got != fmt.Sprintln(i) {
			t.Fatalf("line %q, want event %d", got, i)
		}
		if i == 0 {
			fmt.Fprintln(&events, "there is room for this one")
		}
	}
	if got := string(<-slow.Lines()); got != "{\"missed\":7}\nthere is room for this one\n" {
		t.Errorf("line %q", got)
	}
	for range EventBacklog + 3 {
		fmt.Fprintln(&events, "event")
	}
	for range EventBacklog {
		if got := string(<-slow.Lines()); got != "event\n" {
			t.Fatalf("line %q", got)
		}
	}
	if n, again := events.TakeMissed(slow), events.TakeMissed(slow); n != 3 || again != 0 {
		t.Errorf("at the end of the queue %d events are missing, then %d, want 3 and 0", n, again)
	}
	events.Leave(slow)
	if n, err := events.Write([]byte("to nobody")); n != 9 || err != nil {
		t.Errorf("write to nobody: %d, %v", n, err)
	}
}

// TestEventsMissing: a client that reads too slowly gets, at each gap, the number of events that are missing
// there, also if the gap is at the end.
func TestEventsMissing(t *testing.T) {
	events := new(Events)
	d := serve(t, Config{Routes: (&fakeNode{}).routes(), Events: events})
	stream, err := NewClient(d.path).Events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	const count = 10 * EventBacklog // with padding far more than the buffers of the connection have room for
	padding := strings.Repeat("x", 16<<10)
	for i := range count {
		fmt.Fprintf(events, "{\"number\":%d,\"padding\":%q}\n", i, padding)
	}
	next, gaps := 0, 0
	for lines := json.NewDecoder(stream); next < count; {
		line := struct{ Number, Missed int }{Number: -1}
		if err := lines.Decode(&line); err != nil {
			t.Fatalf("after event %d: %v", next, err)
		}
		if line.Missed > 0 {
			next, gaps = next+line.Missed, gaps+1
			continue
		}
		if line.Number != next {
			t.Fatalf("event %d follows, want %d", line.Number, next)
		}
		next++
	}
	if next != count || gaps == 0 {
		t.Errorf("%d events are accounted for, with %d gaps", next, gaps)
	}
}

// fakeCapture writes to each viewer whether that viewer sees payload, and tells the test when a
// viewer leaves.
type fakeCapture struct{ left chan bool }

func (c fakeCapture) View(ctx context.Context, w io.Writer) error { return c.show(ctx, w, "payload") }

func (c fakeCapture) ViewHeaders(ctx context.Context, w io.Writer) error {
	return c.show(ctx, w, "headers")
}

func (c fakeCapture) show(ctx context.Context, w io.Writer, text string) error {
	defer func() { c.left <- true }()
	if _, err := io.WriteString(w, text); err != nil {
		return err
	}
	w.(interface{ Flush() }).Flush()
	<-ctx.Done()
	return nil
}

// TestCapture: root and the daemon's user see the payload of messages, the group of
// the socket their headers.
func TestCapture(t *testing.T) {
	for _, test := range []struct {
		access Access
		want   string
	}{{AccessWrite, "payload"}, {AccessRead, "headers"}} {
		c := fakeCapture{make(chan bool, 1)}
		d := serveAs(t, Config{Routes: (&fakeNode{}).routes(), Capture: c}, func() Access { return test.access })
		stream, headersOnly, err := NewClient(d.path).Capture(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 7)
		if _, err := io.ReadFull(stream, got); err != nil || string(got) != test.want || headersOnly != (test.access == AccessRead) {
			t.Errorf("access %d: read %q, headers only: %t, %v", test.access, got, headersOnly, err)
		}
		stream.Close()
		wait(t, c.left)
	}
}
