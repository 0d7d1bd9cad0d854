package main

import (
	"fmt"
	"strings"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/modules/scoll"
	"ulnet/lnet/nid"
)

// traceDoc is where the time of one broadcast went, in the JSON output of bench. Times are in
// µs; sends, wake-ups, work and pauses add up to the time to the answer.
type traceDoc struct {
	Percentile  int       `json:"percentile"` // percentile of the time to the answer at which this broadcast is; 100: the longest one
	Answered    float64   `json:"answered_us"`
	Sends       float64   `json:"sends_us"`
	WakeUps     float64   `json:"wake_ups_us"`
	Work        float64   `json:"work_us"`
	Pauses      float64   `json:"gc_pauses_us"`
	Collections int       `json:"collections"` // garbage collections that ended during the broadcast
	Latest      stepDoc   `json:"latest"`      // the longest step
	Steps       []stepDoc `json:"steps"`
}

// stepDoc is a step of the critical path.
type stepDoc struct {
	NID  nid.NID `json:"nid"`
	Kind string  `json:"kind"` // "send", "wake-up", "work" or "gc"
	From nid.NID `json:"from,omitzero"`
	Why  string  `json:"why"`
	Took float64 `json:"took_us"`
}

func newTraceDoc(t *scoll.BenchTrace) (d traceDoc) {
	d = traceDoc{Percentile: t.Percentile, Answered: micro(t.Answered), Collections: t.Collected, Steps: []stepDoc{}}
	for i := range t.Steps {
		s := &t.Steps[i]
		step := stepDoc{NID: s.NID, Kind: s.Kind, From: s.From, Why: why(s), Took: micro(s.NS)}
		switch s.Kind {
		case scoll.StepSend:
			d.Sends += step.Took
		case scoll.StepWake:
			d.WakeUps += step.Took
		case scoll.StepGC:
			d.Pauses += step.Took
		default:
			d.Work += step.Took
		}
		if d.Steps = append(d.Steps, step); step.Took > d.Latest.Took || i == 0 {
			d.Latest = step
		}
	}
	return d
}

// why returns the text of a step.
func why(s *scoll.BenchStep) string {
	switch {
	case s.Kind == scoll.StepWake && s.Answer:
		return fmt.Sprintf("%v woke up for the answer of %v, its child", s.NID, s.From)
	case s.Kind == scoll.StepWake:
		return fmt.Sprintf("%v woke up for the request of %v", s.NID, s.From)
	case s.Kind == scoll.StepSend:
		return fmt.Sprintf("%v sent to its children", s.NID)
	case s.Kind == scoll.StepGC:
		return fmt.Sprintf("%v was stopped by a garbage collection", s.NID)
	}
	return fmt.Sprintf("%v merged and sent its answer", s.NID)
}

// printTraces prints a row for each percentile, and the critical path of the longest broadcast.
func printTraces(b *strings.Builder, traces []traceDoc) {
	if len(traces) == 0 {
		return
	}
	b.WriteString("\nwhere the time to the answer went, and the step that was latest:\n")
	var t cli.Table
	t.Row("", "TOTAL", "SENDS", "WAKE-UPS", "WORK", "GC", "LATEST")
	for _, d := range traces {
		name := fmt.Sprintf("p%d", d.Percentile)
		if d.Percentile == 100 {
			name = "max"
		}
		t.Row(name, us(d.Answered), us(d.Sends), us(d.WakeUps), us(d.Work), us(d.Pauses), us(d.Latest.Took)+": "+d.Latest.Why)
	}
	_ = t.Print(b) // cannot fail: writing to a strings.Builder never does
	b.WriteString("\nthe critical path of the longest:\n")
	at := time.Duration(0)
	for _, s := range traces[len(traces)-1].Steps {
		at += time.Duration(s.Took * 1000)
		fmt.Fprintf(b, "  %10v  +%-10v %s\n", rounded(at), us(s.Took), s.Why)
	}
}
