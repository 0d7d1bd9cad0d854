package analyze

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnd/capture/capturetest"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/socklnd/ksock"
)

// TestPercentiles: each percentile exceeds that of the sorted latencies by 1/32 at most; minimum, mean
// and maximum are exact.
func TestPercentiles(t *testing.T) {
	spec.Covers(t, "DG-4")
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, 9, 10, 100, 101, 5000} {
		var h histogram
		var all []time.Duration
		var sum float64
		for range n {
			d := time.Duration(math.Exp2(rng.Float64() * 41))
			h.add(d)
			all, sum = append(all, d), sum+float64(d)
		}
		slices.Sort(all)
		got := h.summary()
		if got.Min != all[0] || got.Max != all[n-1] || got.Mean != time.Duration(sum/float64(n)) {
			t.Errorf("%d: %+v, want %v, %v", n, got, all[0], all[n-1])
		}
		for share, p := range map[float64]time.Duration{0.5: got.P50, 0.9: got.P90, 0.99: got.P99, 0.999: got.P999} {
			want := all[int(math.Ceil(share*float64(n)))-1]
			if p < want || float64(p) > float64(want)*33/32 {
				t.Errorf("%d: %v of %v, want %v", n, p, share, want)
			}
		}
	}
}

// TestBuckets: every duration is in the bucket whose bounds it lies between.
func TestBuckets(t *testing.T) {
	for v := time.Duration(0); v < longest; v += 1 + v/7 {
		b := bucketOf(v)
		if upper(b) < v || b > 0 && upper(b-1) >= v {
			t.Fatalf("%d in bucket %d, up to %d", v, b, upper(b))
		}
	}
	if b := bucketOf(math.MaxInt64); b != buckets-1 || upper(b) != longest {
		t.Errorf("the longest is in bucket %d of %d", b, buckets)
	}
}

// TestTimeline: however long a capture is, all that happened is in the columns, in its order.
func TestTimeline(t *testing.T) {
	var l timeline
	rng := rand.New(rand.NewPCG(5, 6))
	const n = 1000
	for i := range n {
		at := time.Duration(i) * time.Duration(i) * time.Hour
		l.mark(at, mark(i%int(marks)))
		l.latency(at, Kind(i%int(kinds)), time.Duration(rng.Int64()))
		if i > 0 && at/l.width >= columns {
			t.Fatalf("%v is beyond the columns of %v", at, l.width)
		}
	}
	l.mark(math.MaxInt64, markEnded)
	var got int
	for _, c := range l.columns {
		for _, m := range c.marks {
			got += int(m)
		}
		for _, k := range c.latencies {
			for _, n := range k {
				got += int(n)
			}
		}
	}
	if got != 2*n+1 {
		t.Errorf("%d of %d", got, 2*n+1)
	}
}

// TestPlot: the plot of a capture is an XML document without links and scripts. It has a panel for each kind of
// operation in the capture. A rectangle shows when another event happened, such as a new connection.
func TestPlot(t *testing.T) {
	spec.Covers(t, "DG-10")
	a := New(Config{Services: []Service{selftest}})
	capturetest.Decode(t, "../testdata/captures2/tcp-mr-link-down.pcap.gz", a.Record)
	var out bytes.Buffer
	if err := a.Report(time.Time{}).Plot(&out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	checkXML(t, out.Bytes())
	for _, want := range []string{"PUT to ACK", "GET to REPLY", ": 1 of up to 17.179869184s", "connected, ", `role="img"`, "10s"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the plot", want)
		}
	}
	for _, bad := range []string{"href", "script", "url(", "%!", "request to reply"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q in the plot", bad)
		}
	}
}

func checkXML(t testing.TB, b []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(b))
	for {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestEmpty: without records the report is empty, and can be encoded and drawn.
func TestEmpty(t *testing.T) {
	r := New(Config{}).Report(time.Now())
	if r.Duration != 0 || r.Messages != 0 {
		t.Errorf("%+v", r)
	}
	checkReport(t, New(Config{}), r)
}

// TestNow: unanswered operations, and the silence of a link, last until the instant of the report.
func TestNow(t *testing.T) {
	p := newTape(Config{})
	c := p.dial(nodeA, nodeB, ksock.Control)
	p.send(c, near, put(nodeA, nodeB, 1))
	r := p.Report(time.Unix(1000, 0).Add(time.Minute))
	want := Silence{Longest: time.Minute, Gaps: 1}
	if r.Duration != time.Minute || r.Unanswered[0].Latency != time.Minute || r.Links[0].Silence != want {
		t.Errorf("%+v", r)
	}
	if again := p.report(); again.Duration != 0 || again.Links[0].Silence != (Silence{}) {
		t.Errorf("the first report has changed something: %+v", again)
	}
}

// TestLost: what the capture lacks is in the report.
func TestLost(t *testing.T) {
	p := newTape(Config{})
	c := p.attempt(nodeA, nodeB)
	p.give(capture.Record{Kind: capture.Lost, Conn: c, Length: 7})
	p.give(capture.Record{Kind: capture.Lost, Conn: &capture.Conn{RoCE: true}, Length: 2})
	p.give(capture.Record{Kind: capture.Unknown, Conn: c, Length: 9})
	if r := p.report(); r.LostBytes != 7 || r.LostPackets != 2 || r.Unknown != 1 {
		t.Errorf("%+v", r.Totals)
	}
}

// checkReport fails the test if a report contradicts itself or the bounds of its Analyzer.
func checkReport(t testing.TB, a *Analyzer, r *Report) {
	t.Helper()
	if _, err := json.Marshal(r); err != nil {
		t.Fatal(err)
	}
	var svg bytes.Buffer
	if err := r.Plot(&svg); err != nil {
		t.Fatal(err)
	}
	checkXML(t, svg.Bytes())
	var byKind, byPair, copies uint64
	for _, k := range r.Kinds {
		byKind += k.Asked
		copies += k.Copies
		if k.Answered+k.Failed > k.Asked || k.Latency.Min > k.Latency.P50 || k.Latency.P999 > k.Latency.Max {
			t.Fatalf("%+v", k)
		}
	}
	for _, p := range r.Pairs {
		byPair += p.Asked
	}
	if byKind != byPair {
		t.Fatalf("%d operations by kind, %d by pair", byKind, byPair)
	}
	checkBounds(t, a, r)
}

func checkBounds(t testing.TB, a *Analyzer, r *Report) {
	t.Helper()
	l := a.limits
	if n := a.table.open.Len() + a.table.answered.Len(); n > l.open+l.answered || len(a.table.byKey) > n {
		t.Fatalf("%d entries, %d keys", n, len(a.table.byKey))
	}
	if len(r.Kinds) > l.kinds+int(kinds) || len(r.Pairs) > l.pairs+1 || len(r.Links) > l.links+1 || len(a.links.conns) > l.conns {
		t.Fatalf("%d kinds, %d pairs, %d links, %d connections", len(r.Kinds), len(r.Pairs), len(r.Links), len(a.links.conns))
	}
	if len(r.Slowest) > a.cfg.Listed || len(r.Unanswered) > a.cfg.Listed || !slices.IsSortedFunc(r.Slowest, func(a, b Operation) int { return int(b.Latency - a.Latency) }) {
		t.Fatalf("lists %v, %v", r.Slowest, r.Unanswered)
	}
}
