package console_test

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
)

// sample returns the counters of a node.
func sample(node int, running, received, sent uint32, receivedBytes, sentBytes uint64) console.Answer {
	return console.Answer{ID: process(node), Stat: &wire.StatReply{
		Framework: wire.FrameworkStats{Running: running},
		LNet:      wire.LNetStats{Received: received, Sent: sent, ReceivedBytes: receivedBytes, SentBytes: sentBytes},
	}}
}

// TestRates: differences are divided by the time of each node; counters wrap; idle nodes do not
// count for the least; nodes with one sample are left out.
func TestRates(t *testing.T) {
	spec.Covers(t, "ST-28")
	before := []console.Answer{
		sample(1, 1000, 0xfffffff0, 10, 1<<20, 0), sample(2, 500, 7, 7, 7, 7), sample(3, 9000, 100, 100, 0, 0), sample(4, 1, 1, 1, 1, 1),
	}
	after := []console.Answer{
		sample(3, 100, 300, 100, 1000, 0), // a new session: by the caller's clock
		sample(1, 3000, 16, 30, 5<<20, 8), sample(2, 1500, 7, 7, 7, 7), {ID: process(4)}, sample(5, 1, 1, 1, 1, 1),
	}
	want := console.Traffic{
		Nodes: 3, Received: console.Figure{Avg: 22, Min: 16, Max: 50}, Sent: console.Figure{Avg: 10. / 3, Min: 10, Max: 10},
		ReceivedBytes: console.Figure{Avg: (2<<20 + 250) / 3., Min: 250, Max: 2 << 20}, SentBytes: console.Figure{Avg: 4. / 3, Min: 4, Max: 4},
	}
	if got := console.Rates(before, after, 4*time.Second); got != want {
		t.Errorf("%+v, want\n%+v", got, want)
	}
	if got := console.Rates(before, nil, 0); got != (console.Traffic{}) {
		t.Errorf("%+v", got)
	}
}
