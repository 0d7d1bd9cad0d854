package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// sideNodes is how many nodes a zone and a cluster of memberlist have, a process each.
const sideNodes = 64

// sideSpread is how long it took until others knew of something.
type sideSpread struct {
	Mean time.Duration `json:"mean_ns"`
	Last time.Duration `json:"last_ns"`
}

// sideFigures is what cmd/bench/peers says of one system.
type sideFigures struct {
	System      string        `json:"system"`
	Nodes       int           `json:"nodes"`
	Join        time.Duration `json:"join_ns"`
	Bytes       float64       `json:"payload_bytes_per_node_and_second"`
	Packets     float64       `json:"messages_per_node_and_second"`
	CPU         float64       `json:"cpu_percent_of_a_core_per_node"`
	Newcomer    sideSpread    `json:"newcomer"`
	Attribute   sideSpread    `json:"attribute"`
	Goodbye     sideSpread    `json:"goodbye"`
	Death       sideSpread    `json:"death"`
	Silence     sideSpread    `json:"silence"`
	FalseDeaths int           `json:"false_deaths"`
}

// sideFigure is a figure that both systems have.
type sideFigure struct {
	what string
	of   func(f *sideFigures) float64
	unit string
}

// sideFigureList has all of them but false deaths, of which there is no ratio.
var sideFigureList = func() []sideFigure {
	list := []sideFigure{{"all start at once: until all know all, to memberlist", func(f *sideFigures) float64 { return f.Join.Seconds() }, "s"}}
	for _, s := range []struct {
		what string
		of   func(f *sideFigures) *sideSpread
	}{
		{"a newcomer: until another knows, on average, to memberlist", func(f *sideFigures) *sideSpread { return &f.Newcomer }},
		{"an attribute: until another has it, on average, to memberlist", func(f *sideFigures) *sideSpread { return &f.Attribute }},
		{"a goodbye: until another knows, on average, to memberlist", func(f *sideFigures) *sideSpread { return &f.Goodbye }},
		{"a process is killed: until another knows, on average, to memberlist", func(f *sideFigures) *sideSpread { return &f.Death }},
		{"a process hangs: until another knows, on average, to memberlist", func(f *sideFigures) *sideSpread { return &f.Silence }},
	} {
		list = append(list,
			sideFigure{s.what, func(f *sideFigures) float64 { return s.of(f).Mean.Seconds() }, "s"},
			sideFigure{"the same, the last one, to memberlist", func(f *sideFigures) float64 { return s.of(f).Last.Seconds() }, "s"},
		)
	}
	return append(list,
		sideFigure{"idle: payload of a node in a second, to memberlist", func(f *sideFigures) float64 { return f.Bytes }, "B"},
		sideFigure{"idle: messages of a node in a second, to memberlist", func(f *sideFigures) float64 { return f.Packets }, "messages"},
		sideFigure{"idle: CPU of a node, to memberlist", func(f *sideFigures) float64 { return f.CPU }, "% of a core"},
	)
}()

const sideFalse = "4 nodes stopped for 8 s and continued for 0.1 s, three times: deaths told of others"

// measureMemberlist sets zones beside memberlist. No goal bounds it.
func measureMemberlist(ctx context.Context, b *bench) ([]line, error) {
	if b.effort() == aGlance {
		return skippedSides("memberlist is built and run from 5 rounds on"), nil
	}
	program, missing, err := buildPeers(ctx)
	if missing != "" {
		return skippedSides(missing), nil
	}
	if err != nil {
		return nil, err
	}
	defer program.remove()
	var all []sideFigures
	rounds := pick(b, 1, 1, 3)
	if err := program.run(ctx, &all, "--systems", "zone,memberlist-lan", "--nodes", strconv.Itoa(sideNodes), "--rounds", strconv.Itoa(rounds)); err != nil {
		return nil, err
	}
	return sideLines(all)
}

func skippedSides(why string) (lines []line) {
	for _, f := range sideFigureList {
		lines = append(lines, line{what: f.what, free: true, skipped: why})
	}
	return append(lines, line{what: sideFalse, free: true, skipped: why})
}

// sideLines are the lines of rounds of both systems.
func sideLines(all []sideFigures) (lines []line, err error) {
	var ours, theirs []*sideFigures
	for i := range all {
		if all[i].System == "zone" {
			ours = append(ours, &all[i])
		} else {
			theirs = append(theirs, &all[i])
		}
	}
	if len(ours) == 0 || len(ours) != len(theirs) {
		return nil, errors.New("not both systems have figures")
	}
	basis := fmt.Sprintf("%d processes on loopback, both with their defaults", ours[0].Nodes)
	for _, f := range sideFigureList {
		var a, b []float64
		for i := range ours {
			a, b = append(a, f.of(ours[i])), append(b, f.of(theirs[i]))
		}
		lines = append(lines, line{
			what: f.what, ratio: compare(a, b), free: true,
			basis: fmt.Sprintf("%.3f : %.3f %s; %s", median(a), median(b), f.unit, basis),
		})
	}
	told, others := 0, 0
	for i := range ours {
		told, others = told+ours[i].FalseDeaths, others+theirs[i].FalseDeaths
	}
	return append(lines, line{what: sideFalse, ratio: float64(told), unit: "deaths", free: true, basis: fmt.Sprintf("memberlist %d; %s", others, basis)}), nil
}
