package web

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestAnswerInACrowd: a connection that is being answered outlives idle ones that came later.
func TestAnswerInACrowd(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan bool, 1), make(chan bool, 1)
	at := startWith(t, "127.0.0.1:0", map[string]http.HandlerFunc{
		"/page": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "content") },
		"/slow": func(w http.ResponseWriter, _ *http.Request) {
			begun <- true
			<-finish
			fmt.Fprint(w, "slow")
		},
	})
	defer close(finish)
	dial := func() net.Conn {
		c, err := net.Dial(at.Network(), at.String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	first := dial()
	if err := first.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(first, "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
	<-begun
	for range 2 * maxConns {
		dial()
	}
	if status, body := ask(t, at, "GET /page HTTP/1.1", "Host: localhost"); status != 200 || body != "content" {
		t.Errorf("the last connection: status %d, %q", status, body)
	}
	finish <- true
	r, err := http.ReadResponse(bufio.NewReader(first), nil)
	if err != nil {
		t.Fatalf("the connection that was being answered: %v", err)
	}
	defer r.Body.Close()
	if body, err := io.ReadAll(r.Body); err != nil || string(body) != "slow" {
		t.Errorf("the connection that was being answered: %q, %v", body, err)
	}
}

// TestLeaving: above the bound, the connection that was quiet for longest is closed. If more than
// half of the connections have requests, the one with the oldest request is closed.
func TestLeaving(t *testing.T) {
	c := newCrowd(nil, 4)
	join := func(leaves *member) *member {
		t.Helper()
		near, far := net.Pipe()
		t.Cleanup(func() { far.Close() })
		m := &member{Conn: near, crowd: c}
		got := c.add(m)
		if got != leaves {
			t.Fatalf("connection %p leaves, want %p", got, leaves)
		}
		if got != nil {
			got.Close()
		}
		return m
	}
	first, second, third, fourth := join(nil), join(nil), join(nil), join(nil)
	c.note(first, http.StateActive)
	c.note(second, http.StateActive)
	c.note(first, http.StateIdle)
	c.note(first, http.StateActive) // the first connection's request is now younger than the second one's
	join(third)
	c.note(fourth, http.StateActive)
	join(second)
	c.note(second, http.StateActive) // no effect: the second connection was closed
	c.note(first, http.StateIdle)
	c.note(first, http.StateClosed)
	if len(c.open) != 4 {
		t.Errorf("%d connections are open, want 4", len(c.open))
	}
	first.Close()
	if len(c.open) != 3 {
		t.Errorf("%d connections are open, want 3", len(c.open))
	}
}
