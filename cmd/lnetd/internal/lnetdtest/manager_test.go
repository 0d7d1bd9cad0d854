//go:build linux

package lnetdtest

import (
	"fmt"
	"net"
	"testing"
	"time"
)

// TestManagerBehind: a daemon can send more messages than the queue of a socket holds (10, the
// default of net.unix.max_dgram_qlen) while the test does something else.
func TestManagerBehind(t *testing.T) {
	m := NewManager(t, 0)
	c, err := net.Dial("unixgram", m.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const messages = 2000
	for i := range messages {
		_ = c.SetWriteDeadline(time.Now().Add(messageTimeout))
		if _, err := fmt.Fprintf(c, "N=%d\nREADY=1\n", i); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
	for i := range messages {
		if got := m.Next(); got["N"] != fmt.Sprint(i) || got["READY"] != "1" {
			t.Fatalf("%v, want message %d", got, i)
		}
	}
}
