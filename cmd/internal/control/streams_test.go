package control_test

import (
	"bufio"
	"context"
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

func TestEventsNeverBlock(t *testing.T) {
	var events Events
	slow := events.Listen()
	for i := range EventBacklog + 7 {
		fmt.Fprintln(&events, i)
	}
	if n := events.TakeMissed(slow); n != 7 {
		t.Errorf("missed %d, want 7", n)
	}
	if n := events.TakeMissed(slow); n != 0 {
		t.Errorf("missed %d again", n)
	}
	if got := string(<-slow.Lines()); got != "0\n" {
		t.Errorf("first line %q, want the oldest", got)
	}
	events.Leave(slow)
	if n, err := events.Write([]byte("to nobody")); n != 9 || err != nil {
		t.Errorf("write to nobody: %d, %v", n, err)
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
