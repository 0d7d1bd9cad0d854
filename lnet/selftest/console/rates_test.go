package console_test

import (
	"fmt"
	"testing"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnd/capture/capturetest"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
	lnetwire "ulnet/lnet/wire"
)

// sample returns the counters of a node.
func sample(node int, running, received, sent uint32, receivedBytes, sentBytes uint64) console.Answer {
	return console.Answer{ID: process(node), Stat: &wire.StatReply{
		Framework: wire.FrameworkStats{Running: running},
		LNet:      wire.LNetStats{Received: received, Sent: sent, ReceivedBytes: receivedBytes, SentBytes: sentBytes},
	}}
}

// TestRates: differences are divided by the time of each node; counters wrap; idle nodes do not
// count for Figure.Min; nodes with one sample are left out.
func TestRates(t *testing.T) {
	spec.Covers(t, "ST-28")
	before := []console.Answer{
		sample(1, 1000, 0xfffffff0, 10, 1<<20, 0), sample(2, 500, 7, 7, 7, 7), sample(3, 9000, 100, 100, 0, 0), sample(4, 1, 1, 1, 1, 1),
	}
	after := []console.Answer{
		sample(3, 100, 300, 100, 1000, 0), // the node has begun a new session, so the time that the caller gives counts
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

// TestRatesRestart: a node whose counters have begun anew between two samples, as after a restart, is left out, whether
// it has been in the session for less time than before or not.
func TestRatesRestart(t *testing.T) {
	spec.Covers(t, "ST-28")
	before := []console.Answer{sample(1, 1000, 0, 0, 0, 0), sample(2, 9000, 500, 500, 1<<30, 1<<20)}
	want := console.Figure{Avg: 10, Min: 10, Max: 10}
	for name, restarted := range map[string]console.Answer{
		"received bytes":        sample(2, 100, 510, 510, 0, 1<<21),
		"sent bytes":            sample(2, 100, 510, 510, 1<<31, 0),
		"received messages":     sample(2, 100, 10, 510, 1<<31, 1<<21),
		"sent messages":         sample(2, 100, 510, 10, 1<<31, 1<<21),
		"longer in the session": sample(2, 20000, 510, 510, 0, 0),
	} {
		got := console.Rates(before, []console.Answer{sample(1, 2000, 10, 10, 10, 10), restarted}, time.Second)
		if got != (console.Traffic{Nodes: 1, Received: want, Sent: want, ReceivedBytes: want, SentBytes: want}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// recordedStats returns the counters of a node in all replies of a recording.
func recordedStats(t *testing.T, file string, id nid.ProcessID) (list [][]console.Answer) {
	t.Helper()
	capturetest.Decode(t, file, func(c *capture.Record) {
		if c.Kind != capture.Message || c.Header.Type != lnetwire.Put || c.Header.SrcNID != id.NID {
			return
		}
		if m, err := wire.ParseMessage(c.Payload); err == nil {
			if b, ok := m.Body.(*wire.StatReply); ok {
				list = append(list, []console.Answer{{ID: id, Stat: b}})
			}
		}
	})
	return list
}

// TestRecordedRates: rates and bandwidths are those that the transcript of the recorded session
// has for its four pairs of samples.
func TestRecordedRates(t *testing.T) {
	spec.Covers(t, "ST-28")
	list := recordedStats(t, "../../../lnd/capture/testdata/captures2/tcp-lst-console.pcap.gz", nid.ProcessID{NID: nid.MustParse("10.88.0.3@tcp"), PID: nid.LustrePID})
	if len(list) != 10 {
		t.Fatalf("%d samples", len(list))
	}
	for i := 2; i < 10; i += 2 { // the first two samples were taken for the command show_error
		r := console.Rates(list[i], list[i+1], time.Second)
		got := fmt.Sprintf("%-8.0f %-8.0f %-8.2f %-8.2f", r.Received.Avg, r.Sent.Max, r.ReceivedBytes.Min/(1<<20), r.SentBytes.Avg/(1<<20))
		if want := "1        1        0.00     0.00    "; got != want {
			t.Errorf("pair %d: %q, want %q", i/2, got, want)
		}
	}
}
