package zone

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
)

// setClock has the time that the test sets.
type setClock struct {
	machine.Clock
	now time.Duration
}

func (c *setClock) Now() time.Duration { return c.now }

// TestFewMemberLines: MS-110: strangers that join a zone without a key, and leave it, cannot fill the log. In
// each hour the number of lines about members is bounded. Each kind of line has a bound of its own, so the
// death of a member is logged however many strangers joined and left. Above the bound there is a line now and
// then, which says how many are missing.
func TestFewMemberLines(t *testing.T) {
	spec.Covers(t, "MS-110")
	var log bytes.Buffer
	clock := &setClock{now: time.Hour}
	a := &Agent{clock: clock, log: slog.New(slog.NewTextHandler(&log, nil))}
	a.watchers.Init(clock)
	leave := func(cause Cause) {
		a.happened(&Event{Kind: Left, ID: nth(1), Version: Version{Inc: 1, Minor: 1}, Cause: cause}, 1)
	}
	come := func() {
		a.happened(&Event{Kind: Joined, ID: nth(1), Version: Version{Inc: 1, Minor: 1}}, 1)
		leave(Said)
	}
	want := func(what string, lines int, last string) {
		t.Helper()
		if text := log.String(); strings.Count(text, "\n") != lines || !strings.HasSuffix(text, last+"\n") {
			t.Errorf("%s: %d lines, want %d; the last one is %s", what, strings.Count(text, "\n"), lines, text[strings.LastIndex(text, "time="):])
		}
		log.Reset()
	}
	const extra = 100
	for range maxMemberLines + extra {
		come()
	}
	want("many at once", 2*maxMemberLines, "cause=said code=0")
	leave(Dead)
	want("a death beside them", 1, "cause=dead code=0")
	clock.now += memberTrickle
	come()
	want("later", 2, fmt.Sprintf("unsaid=%d", extra))
	clock.now += time.Hour
	come()
	want("an hour later", 2, "cause=said code=0")
}
