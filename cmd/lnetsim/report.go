package main

import (
	"fmt"
	"time"

	"ulnet/lnd/sim/scenario"
)

// report is the JSON output for several runs of one scenario.
type report struct {
	File     string    `json:"file"`
	Protocol string    `json:"protocol"`
	Level    string    `json:"level"`
	Nodes    int       `json:"nodes"`
	OK       bool      `json:"ok"`
	Failed   int       `json:"failed_runs"`
	Wall     float64   `json:"wall_s"` // wall-clock time of all runs together, in seconds
	Runs     []run     `json:"runs"`
	Expects  []expect  `json:"expects"`  // results of the checks over all runs, in the order of the file
	Measures []measure `json:"measures"` // measures, summarized over the runs
}

// run is the result of one run.
type run struct {
	OK     bool   `json:"ok"`
	Digest string `json:"digest"`
	Repeat string `json:"repeat"` // the command that repeats this run
	*scenario.Result
}

// expect is the result of an expect, always or never line over several runs.
type expect struct {
	Line int    `json:"line"`
	Text string `json:"text"`
	Held int    `json:"held"`
	// At is when, in seconds of virtual time, the condition became true, over the runs in which it
	// did.
	At *spread `json:"at_s"`
	// The fields below are of the first run in which the check failed.
	FailedSeed *uint64       `json:"failed_seed,omitempty"`
	FailedAt   time.Duration `json:"-"`
	Why        string        `json:"why,omitempty"`
}

// measure is a measure over several runs.
type measure struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	spread
}

// newReport summarizes one or more results. The function repeat returns the command that repeats
// the run with a seed.
func newReport(f *scenario.File, results []*scenario.Result, wall time.Duration, repeat func(seed uint64) string) *report {
	first := results[0]
	r := &report{
		File: f.Name, Protocol: f.Protocol.Name, Level: first.Level.String(), Nodes: first.Nodes,
		Wall: wall.Seconds(), Expects: []expect{}, Measures: []measure{},
	}
	for _, res := range results {
		r.Runs = append(r.Runs, run{res.OK(), fmt.Sprintf("%016x", res.Digest), repeat(res.Seed), res})
		if !res.OK() {
			r.Failed++
		}
	}
	r.OK = r.Failed == 0
	for i := range first.Expects {
		r.Expects = append(r.Expects, overRuns(results, i))
	}
	r.Measures = measuresOf(results)
	return r
}

// overRuns summarizes the check with index i over all runs.
func overRuns(results []*scenario.Result, i int) expect {
	e := expect{Line: results[0].Expects[i].Line, Text: results[0].Expects[i].Text}
	var at []float64
	for _, res := range results {
		switch o := res.Expects[i]; {
		case o.OK:
			e.Held++
			at = append(at, o.At.Seconds())
		case e.FailedSeed == nil:
			e.FailedSeed, e.FailedAt, e.Why = &res.Seed, o.At, o.Why
		}
	}
	if len(at) > 0 {
		s := spreadOf(at)
		e.At = &s
	}
	return e
}

// measuresOf returns the protocol's own measures and the counters of the network.
func measuresOf(results []*scenario.Result) []measure {
	var order []scenario.Measure
	values := map[string][]float64{}
	for _, res := range results {
		for _, m := range append(res.Measures[:len(res.Measures):len(res.Measures)], counters(res)...) {
			if values[m.Name] == nil {
				order = append(order, m)
			}
			values[m.Name] = append(values[m.Name], m.Value)
		}
	}
	list := []measure{}
	for _, m := range order {
		list = append(list, measure{m.Name, m.Unit, spreadOf(values[m.Name])})
	}
	return list
}

// counters returns the counters of the simulator.
func counters(r *scenario.Result) []scenario.Measure {
	s := &r.Stats
	return []scenario.Measure{
		{Name: "events", Value: float64(s.Events)},
		{Name: "steps", Value: float64(s.Steps)},
		{Name: "messages sent", Value: float64(s.Sent)},
		{Name: "bytes sent", Unit: "B", Value: float64(s.SentBytes)},
		{Name: "messages delivered", Value: float64(s.Delivered)},
		{Name: "messages lost", Value: float64(s.Lost)},
		{Name: "messages duplicated", Value: float64(s.Duplicated)},
		{Name: "messages reordered", Value: float64(s.Reordered)},
		{Name: "messages cut off", Value: float64(s.Cut)},
		{Name: "messages refused", Value: float64(s.Refused)},
		{Name: "messages to full inboxes", Value: float64(s.InboxFull)},
	}
}
