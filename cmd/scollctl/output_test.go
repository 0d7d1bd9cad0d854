package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/modules/scoll"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

func idOf(i int) nid.NID { return nid.FromNumber(nid.MakeNet(nid.TCP, 0), uint32(10<<24+i)) }

// TestPrintReply: members with the same answer share one entry, and all members that failed or
// were not reached are listed.
func TestPrintReply(t *testing.T) {
	r := scoll.BroadcastReply{Status: scoll.BroadcastIncomplete, ElapsedUS: 12_345_678, Skipped: []nid.NID{idOf(99)}}
	add := func(i int, exit int32, output string) {
		r.Reached = append(r.Reached, idOf(i))
		r.Answers = append(r.Answers, scoll.Answer{NID: idOf(i), Exit: &exit, Output: &output, TimeOver: exit == -9, Cut: exit == 0})
	}
	for i := range 11 {
		add(i, 0, "fine\n\x1b[2Jbad\n")
	}
	for i := range 9 {
		add(20+i, 3, "")
	}
	add(40, -15, "")
	add(41, -9, "")
	r.Unreached = []scoll.Unreached{{NID: idOf(50), Error: "timed out"}, {NID: idOf(151), Error: "node is down"}}
	var b strings.Builder
	if err := printReply(&b, &r, showDone); err != nil {
		t.Fatal(err)
	}
	want := `22 of 24 members answered in 12.3s; 1 dead left out
  exit code 0: 11 members: 10.0.0.0@tcp 10.0.0.1@tcp 10.0.0.2@tcp 10.0.0.3@tcp 10.0.0.4@tcp 10.0.0.5@tcp 10.0.0.6@tcp 10.0.0.7@tcp and 3 more
      …fine
      ` + "\uFFFD" + `[2Jbad
  exit code 3: 9 members: 10.0.0.20@tcp 10.0.0.21@tcp 10.0.0.22@tcp 10.0.0.23@tcp 10.0.0.24@tcp 10.0.0.25@tcp 10.0.0.26@tcp 10.0.0.27@tcp 10.0.0.28@tcp
  killed by signal 15: 1 member: 10.0.0.40@tcp
  killed when its time was over: 1 member: 10.0.0.41@tcp
not reached:
  10.0.0.50@tcp   timed out
  10.0.0.151@tcp  node is down
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := errorOf(&r); err == nil || err.Error() != "2 of 24 members did not answer" {
		t.Error(err)
	}
	r.Unreached, r.Status = nil, scoll.BroadcastFailed
	if err := errorOf(&r); err == nil || err.Error() != "11 of 22 members failed" {
		t.Error(err)
	}
}

// TestBenchDoc: SC-125: percentiles by the nearest rank, and a histogram whose
// counts add up.
func TestBenchDoc(t *testing.T) {
	spec.Covers(t, "SC-125")
	var last []int64
	for i := range int64(100) {
		last = append(last, (100-i)*10_000)
	}
	last[7] = -500 // negative, which can happen within the error of the clocks
	d := newBenchDoc(&scoll.BenchReply{Last: last, Answered: []int64{5_000}})
	if want := (percentiles{490, 890, 990, 1000}); d.Last != want || d.Answered.P99 != 5 {
		t.Errorf("%+v, %+v", d.Last, d.Answered)
	}
	sum := 0
	for i, b := range d.Histogram {
		if sum += b.Count; i > 1 && b.From != 2*d.Histogram[i-1].From {
			t.Errorf("%+v", d.Histogram)
		}
	}
	if sum != 100 || d.Histogram[0].From != 0 || d.Histogram[0].Count != 1 {
		t.Errorf("%+v", d.Histogram)
	}
	if p := percentilesOf(nil); p != (percentiles{}) {
		t.Errorf("%+v", p)
	}
	if p := percentilesOf([]int64{3000}); p != (percentiles{3, 3, 3, 3}) {
		t.Errorf("%+v", p)
	}
}

// TestTraceDoc: SC-125: the times of the kinds of steps add up, and the longest step is named
// with its reason.
func TestTraceDoc(t *testing.T) {
	a, b := nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.2@tcp")
	trace := scoll.BenchTrace{Percentile: 99, Answered: 100_000, Collected: 1, Steps: []scoll.BenchStep{
		{NID: a, Kind: scoll.StepSend, NS: 10_000},
		{NID: b, Kind: scoll.StepWake, From: a, NS: 40_000},
		{NID: b, Kind: scoll.StepWork, NS: 5_000},
		{NID: b, Kind: scoll.StepGC, NS: 15_000},
		{NID: a, Kind: scoll.StepWake, From: b, Answer: true, NS: 20_000},
		{NID: a, Kind: scoll.StepWork, NS: 10_000},
	}}
	longest := trace
	longest.Percentile = 100
	d := newBenchDoc(&scoll.BenchReply{Traces: []scoll.BenchTrace{trace, longest}})
	var text strings.Builder
	printTraces(&text, d.Traces)
	want := `
where the time to the answer went, and the step that was latest:
     TOTAL  SENDS  WAKE-UPS  WORK  GC    LATEST
p99  100µs  10µs   60µs      15µs  15µs  40µs: 10.0.0.2@tcp woke up for the request of 10.0.0.1@tcp
max  100µs  10µs   60µs      15µs  15µs  40µs: 10.0.0.2@tcp woke up for the request of 10.0.0.1@tcp

the critical path of the longest:
        10µs  +10µs       10.0.0.1@tcp sent to its children
        50µs  +40µs       10.0.0.2@tcp woke up for the request of 10.0.0.1@tcp
        55µs  +5µs        10.0.0.2@tcp merged and sent its answer
        70µs  +15µs       10.0.0.2@tcp was stopped by a garbage collection
        90µs  +20µs       10.0.0.1@tcp woke up for the answer of 10.0.0.2@tcp, its child
       100µs  +10µs       10.0.0.1@tcp merged and sent its answer
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWatched: a broadcast is reported when it begins and when it ends, once each.
func TestWatched(t *testing.T) {
	w := watcher{seen: map[uint64]bool{}}
	ids := func(list ...scoll.BroadcastEntry) (ids []uint64) {
		for _, e := range w.changed(&scoll.Status{Broadcasts: list}) {
			ids = append(ids, e.ID)
		}
		return ids
	}
	over, runs := scoll.BroadcastEntry{ID: 1}, scoll.BroadcastEntry{ID: 2, Running: true}
	ended := scoll.BroadcastEntry{ID: 2}
	for i, step := range []struct{ got, want []uint64 }{
		{ids(over), []uint64{1}},
		{ids(over), nil},
		{ids(over, runs), []uint64{2}},
		{ids(over, runs), nil},
		{ids(over, ended), []uint64{2}},
		{ids(over, ended), nil},
	} {
		if !slices.Equal(step.got, step.want) {
			t.Errorf("%d: %v, want %v", i, step.got, step.want)
		}
	}
}

func TestRounded(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 999: "999ns", 1234567: "1.23ms", -1234567: "-1.23ms", 83 * time.Second: "1m23s", 12345678901: "12.3s",
	} {
		if got := rounded(d).String(); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
	if offset(1500) != "+1.5µs" || offset(-1500) != "-1.5µs" || offset(0) != "0s" {
		t.Error(offset(1500), offset(-1500), offset(0))
	}
}
