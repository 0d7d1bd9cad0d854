package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rec returns a record of operation 0.0.0, with a size of 100 bytes.
func rec(kind recordKind, op opKind) record {
	return record{Kind: kind, Op: op, Target: 1, Size: 100}
}

func failed(r record, errno syscall.Errno) record {
	r.Errno = errno
	return r
}

func sized(r record, size uint32) record {
	r.Size = size
	return r
}

func TestLedger(t *testing.T) {
	acked := []record{rec(started, opPutAck), rec(arrived, 0), rec(answered, opPutAck), rec(sent, opPutAck), rec(ended, opPutAck)}
	const unreachable = syscall.EHOSTUNREACH
	tests := []struct {
		name     string
		records  []record
		killed   bool
		flawless bool
		want     string // text of the expected violation; empty: none
	}{
		{"acknowledged", acked, false, true, ""},
		{"target's journal first", []record{acked[1], acked[0], acked[2], acked[3], acked[4]}, false, true, ""},
		{"sent", []record{rec(started, opPut), rec(sent, opPut), rec(ended, opPut), rec(arrived, 0)}, false, true, ""},
		{"got", []record{rec(started, opGet), rec(sent, opGet), rec(answered, opGet), rec(ended, opGet), rec(served, 0)}, false, true, ""},
		{"sent and lost", []record{rec(started, opPut), rec(sent, opPut), rec(ended, opPut)}, false, false, ""},
		{"lost without a fault", []record{rec(started, opPut), rec(sent, opPut), rec(ended, opPut)}, false, true, "nothing was in its way"},
		{"failed", []record{rec(started, opPut), failed(rec(sent, opPut), unreachable), rec(ended, opPut)}, false, false, ""},
		{"failed and arrived", []record{rec(started, opPut), failed(rec(sent, opPut), unreachable), rec(ended, opPut), rec(arrived, 0)}, false, false, ""},
		{"timed out", []record{rec(started, opPutAck), rec(sent, opPutAck), failed(rec(answered, opPutAck), syscall.ETIMEDOUT), rec(ended, opPutAck)}, false, false, ""},
		{"broken off", []record{rec(started, opPut), rec(sent, opPut), rec(ended, opPut), failed(rec(arrived, 0), syscall.EIO)}, false, false, ""},
		{"killed", []record{rec(started, opPutAck)}, true, false, ""},

		{"arrived twice", append(acked[:len(acked):len(acked)], rec(arrived, 0)), false, false, "arrived twice"},
		{"two SEND events", []record{rec(started, opPut), rec(sent, opPut), rec(sent, opPut)}, false, false, "sent twice"},
		{"two ACKs", append(acked[:4:4], rec(answered, opPutAck)), false, false, "answered twice"},
		{"two last events", append(acked[:5:5], rec(ended, opPutAck)), false, false, "ended twice"},
		{"event after the last", []record{rec(started, opPutAck), rec(sent, opPutAck), rec(ended, opPutAck), rec(answered, opPutAck)}, false, false, "after the end"},
		{"no SEND event", []record{rec(started, opPut), rec(ended, opPut)}, false, false, "without SEND"},
		{"no last event", acked[:4], false, false, "no last event"},
		{"ACK not asked for", []record{rec(started, opPut), rec(answered, opPut)}, false, false, "asks for none"},
		{"ACK after failure", []record{rec(started, opPutAck), failed(rec(sent, opPutAck), unreachable), rec(answered, opPutAck)}, false, false, "after a failed SEND"},
		{"short ACK", []record{rec(started, opPutAck), sized(rec(answered, opPutAck), 99)}, false, false, "99 bytes, not 100"},
		{"short arrival", []record{acked[0], sized(acked[1], 99), acked[2], acked[3], acked[4]}, false, false, "99 bytes arrived of 100"},
		{"acknowledged and lost", []record{acked[0], acked[2], acked[3], acked[4]}, false, false, "acknowledged and never arrived"},
		{"acknowledged, lost, and killed", []record{acked[0], acked[2]}, true, false, "acknowledged and never arrived"},
		{"never started", []record{rec(arrived, 0)}, false, false, "never started"},
		{"from nowhere", []record{{Kind: arrived, ID: opID{Seq: 1 << 30}}}, false, false, "never started"},
		{"GET as PUT", []record{rec(started, opGet), rec(sent, opGet), rec(answered, opGet), rec(ended, opGet), rec(arrived, 0)}, false, false, "as something else"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLedger()
			var err error
			for _, r := range tt.records {
				if err == nil {
					err = l.add(r)
				}
			}
			if tt.killed {
				l.kill(incarnationID{})
			}
			if tt.flawless {
				l.calm = 0
			}
			if err == nil {
				err = l.finish()
			}
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestCalm: operations that begin when the consequences of all faults are over must succeed, earlier ones need not.
func TestCalm(t *testing.T) {
	for _, tt := range []struct {
		name    string
		records []record
		want    bool // whether the operation is a violation
	}{
		{"succeeded", []record{rec(started, opPut), rec(sent, opPut), rec(ended, opPut), rec(arrived, 0)}, false},
		{"lost", []record{rec(started, opPut), rec(sent, opPut), rec(ended, opPut)}, true},
		{"failed", []record{rec(started, opPut), failed(rec(sent, opPut), syscall.EHOSTUNREACH), rec(ended, opPut)}, true},
		{"not acknowledged", []record{rec(started, opPutAck), rec(arrived, 0), rec(sent, opPutAck), failed(rec(ended, opPutAck), syscall.ETIMEDOUT)}, true},
		{"not answered", []record{rec(started, opGet), rec(sent, opGet), failed(rec(ended, opGet), syscall.ETIMEDOUT)}, true},
	} {
		for began, calm := range map[int64]bool{99: false, 100: true, 101: true} {
			l := newLedger()
			l.calm = 100
			for _, r := range tt.records {
				r.At += began
				if err := l.add(r); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.finish(); (err != nil) != (calm && tt.want) {
				t.Errorf("%s, begun at %d: %v", tt.name, began, err)
			}
		}
	}
}

// TestSentAgain: with several paths a message may arrive as often as it was sent, and no more.
func TestSentAgain(t *testing.T) {
	put := []record{rec(started, opPut), rec(sent, opPut), rec(ended, opPut), rec(arrived, 0)}
	again := rec(arrived, 0)
	for _, tt := range []struct {
		name    string
		again   int // number of arrivals after the first
		resends uint64
		killed  bool
		onePath bool
		want    string // text of the expected violation; empty: none
	}{
		{"sent again", 1, 1, false, false, ""},
		{"sent again twice", 2, 7, false, false, ""},
		{"more than its tries", 3, 7, false, false, "arrived 4 times"},
		{"not sent again", 1, 0, false, false, "1 messages arrived again, and 0 were sent again"},
		{"killed: nobody knows", 1, 0, true, false, ""},
		{"by one path", 1, 1, false, true, "arrived twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLedger()
			l.repeats = func(from, to uint8) bool { return !tt.onePath && from == 0 && to == 1 }
			var err error
			for _, r := range append(put[:4:4], slices.Repeat([]record{again}, tt.again)...) {
				if err == nil {
					err = l.add(r)
				}
			}
			if tt.killed {
				l.kill(incarnationID{})
			}
			l.incarnation(incarnationID{}).resends = tt.resends
			if err == nil {
				err = l.finish()
			}
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if o := l.total()["PUT"]; o.Arrived != 1 || o.Again != tt.again {
				t.Errorf("%d arrived and %d again, want 1 and %d", o.Arrived, o.Again, tt.again)
			}
		})
	}
}

func TestTotals(t *testing.T) {
	l := newLedger()
	next := uint32(0)
	add := func(records ...record) {
		for _, r := range records {
			r.ID.Seq = next
			if err := l.add(r); err != nil {
				t.Fatal(err)
			}
		}
		next++
	}
	add(rec(started, opPut), rec(sent, opPut), rec(ended, opPut), rec(arrived, 0))
	add(rec(started, opPut), failed(rec(sent, opPut), syscall.EHOSTUNREACH), rec(ended, opPut))
	add(rec(started, opPut), failed(rec(arrived, 0), syscall.EIO))
	add(rec(started, opPutAck), rec(answered, opPutAck), rec(sent, opPutAck), rec(ended, opPutAck))
	add(rec(started, opPutAck), rec(sent, opPutAck), rec(ended, opPutAck))
	add(rec(started, opPutAck), rec(sent, opPutAck), failed(rec(ended, opPutAck), syscall.ETIMEDOUT))
	add(rec(started, opGet), rec(sent, opGet), failed(rec(answered, opGet), syscall.ETIMEDOUT), rec(ended, opGet), rec(served, 0))
	none := map[string]int{}
	want := map[string]*totals{
		"PUT":     {Operations: 3, OK: 1, Bytes: 100, Failed: map[string]int{"no route to host": 1}, Unanswered: none, Killed: 1, Arrived: 1, Broken: 1},
		"PUT+ACK": {Operations: 3, OK: 1, Bytes: 100, Failed: none, Unanswered: map[string]int{"unlinked": 1, "connection timed out": 1}},
		"GET":     {Operations: 1, Failed: none, Unanswered: map[string]int{"connection timed out": 1}, Arrived: 1},
	}
	if diff := cmp.Diff(want, l.total()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got, want := reasons(map[string]int{"b": 1, "a": 1, "c": 2}), "2 c, 1 a, 1 b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRecent(t *testing.T) {
	var r recent
	for i := range uint32(recentRecords + 10) {
		r.keep(record{ID: opID{Seq: i}})
	}
	all := r.records()
	if len(all) != recentRecords || all[0].ID.Seq != 10 || all[len(all)-1].ID.Seq != recentRecords+9 {
		t.Errorf("%d records from %v to %v", len(all), all[0], all[len(all)-1])
	}
}
