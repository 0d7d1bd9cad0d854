package engine

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
)

// border describes the end of a timeout, in the words of the test harness: what the machine does in the
// nanosecond before, and what it does from then on.
type border struct{ before, after string }

// borders has a check for each row of the documentation's table of borders; nil for a time after
// which nothing happens.
var borders = map[string]func(*testing.T) border{
	"Ping": pingBorder, "Client": clientBorder, "Elect": nil, "Evict": evictBorder, "Orphan": orphanBorder, "Quorum": quorumBorder,
	"Broadcast": broadcastBorder, "RTT": nil, "Tick": tickBorder, "Try": tryBorder,
}

// TestDocumentBorders: CH-57: the documentation has a table of borders with each field of
// Timing, in order. What it says about each field is what machines do just before and at the
// end of that time, to the nanosecond.
func TestDocumentBorders(t *testing.T) {
	spec.Covers(t, "CH-57")
	rows := tableOf(t, "borders")
	for i := range reflect.TypeFor[Timing]().NumField() {
		name := reflect.TypeFor[Timing]().Field(i).Name
		check, ok := borders[name]
		if i >= len(rows) || len(rows[i]) != 4 || rows[i][0] != "`"+name+"`" || !ok {
			t.Fatalf("no row, or no check, for %s", name)
		}
		if row := rows[i]; check == nil {
			if row[1] != "nothing" || row[2] != "nothing" {
				t.Errorf("%s has no check, and the document says %q, %q", name, row[1], row[2])
			}
			continue
		}
		got := check(t)
		for k, words := range []string{got.before, got.after} {
			for word := range strings.FieldsSeq(words) {
				if cell := rows[i][1+k]; !strings.Contains(cell, "`"+word+"`") {
					t.Errorf("%s: the machine does %q, and the document says %q", name, words, cell)
				}
			}
		}
		if got.before == got.after {
			t.Errorf("%s: nothing changes: %+v", name, got)
		}
	}
	if len(rows) != len(borders) {
		t.Errorf("%d rows, not %d", len(rows), len(borders))
	}
}

// picked returns those of the given words that occur in the text, each of them once, in the order of the
// text.
func picked(did string, words ...string) string {
	var got []string
	for word := range strings.FieldsSeq(strings.ReplaceAll(did, ":", " ")) {
		if slices.Contains(words, word) && !slices.Contains(got, word) {
			got = append(got, word)
		}
	}
	return strings.Join(got, " ")
}

// around lets time pass until just before the end of a time-out, and then until the end.
func (h *harness) around(limit time.Duration, words ...string) (b border) {
	h.t.Helper()
	h.advance(limit - 1)
	b.before = picked(h.words(), words...)
	h.advance(1)
	b.after = picked(h.words(), words...)
	return b
}

func evictBorder(t *testing.T) border {
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	b := h.around(h.s.cfg.Evict, "look", "suspended")
	if b.after != "look" {
		t.Errorf("T_evict: %+v", b)
	}
	h.advance(h.s.cfg.Tick)
	b.after = picked(h.words(), "suspended")
	return b
}

func orphanBorder(t *testing.T) border {
	h := newHarness(t, nil)
	h.connect(5, otherA, 1)
	h.step(ServerInput{Kind: ServerHealth, Server: otherA, Lifetime: 1})
	return h.around(h.s.cfg.Orphan, "orphaned", "evicted", "lost-master")
}

func quorumBorder(t *testing.T) border {
	h := newHarness(t, nil)
	h.connect(5, otherA, 1)
	h.step(ServerInput{Kind: QuorumIs})
	return h.around(h.s.cfg.Quorum, "evicted", "lost-quorum")
}

// broadcastBorder: a server that regains the quorum waits for the other servers' tombstones
// before it accepts clients.
func broadcastBorder(t *testing.T) (b border) {
	h := newHarness(t, nil)
	h.mute = true
	h.step(ServerInput{Kind: QuorumIs})
	h.step(ServerInput{Kind: QuorumIs, Alive: true})
	h.advance(h.s.cfg.Broadcast - 1)
	h.connect(5, otherA, 1)
	b.before = picked(h.words(), "busy", "connected")
	h.advance(1)
	h.connect(5, otherA, 1)
	b.after = picked(h.words(), "busy", "connected")
	return b
}

// tickBorder: two clients whose time-outs end within the same tick are evicted by one
// broadcast.
func tickBorder(t *testing.T) (b border) {
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	h.message(stranger, wire.Message{Kind: wire.Connect, Client: wire.ClientID{8}, Incarnation: 1, Server: me, Epoch: 1})
	h.advance(h.s.cfg.Evict)
	began := h.now
	for !strings.Contains(h.words(), "broadcast") {
		b.before = picked(h.words(), "broadcast2")
		h.advance(h.s.cfg.Tick / (2 * lookShare))
		if h.now > began+h.s.cfg.Tick {
			t.Fatal("they wait for longer than a tick")
		}
	}
	if b.after = picked(h.words(), "broadcast2"); b.after != "broadcast2" || h.now == began {
		t.Errorf("%q after %v", h.words(), h.now-began)
	}
	return border{"look", "suspended"}
}

// around lets time pass in two parts: until just before the end of a time-out, and then until that end
// and for the time in the parameter more. It returns what the client reported and sent in each part.
func (h *clientHarness) around(limit, more time.Duration, words ...string) (b border) {
	h.t.Helper()
	b.before = picked(h.pass(limit-1), words...)
	b.after = picked(h.pass(1+more), words...)
	return b
}

// pass lets time pass. It steps the machine whenever the machine wants to be woken.
func (h *clientHarness) pass(d time.Duration) string {
	h.t.Helper()
	var did []string
	for end, n := h.now+d, 0; h.now < end; n++ {
		if n > 10_000 {
			h.t.Fatalf("the machine is stepped over and over at %v", h.now)
		}
		if h.now = min(end, h.wake); h.wake == machine.Never {
			h.now = end
		}
		h.step(ClientInput{})
		did = append(did, h.told)
		for k, m := range h.sent {
			did = append(did, m.Kind.String(), h.to[k].String())
		}
	}
	return strings.Join(did, " ")
}

func pingBorder(t *testing.T) border {
	h := newClientHarness(t, me)
	h.settled()
	return h.around(h.c.cfg.Ping, h.c.cfg.Ping/50, "ping", "master-lost")
}

func clientBorder(t *testing.T) border {
	h := newClientHarness(t, me, otherA)
	h.settled()
	return h.around(h.c.cfg.Client, 0, "ping", "master-lost", "not-connected")
}

func tryBorder(t *testing.T) border {
	h := newClientHarness(t, me, otherA)
	first, second := h.to[0], otherA
	if first == otherA {
		second = me
	}
	b := h.around(h.c.cfg.Try, 0, first.String(), second.String())
	if want := (border{first.String(), second.String()}); b != want {
		t.Errorf("asked %+v, want %+v", b, want)
	}
	return border{"candidate", "next"}
}
