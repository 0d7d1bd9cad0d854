package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// leaseClients is how many clients there are: fewer where there are not enough
// descriptors.
const leaseClients = 10_000

// leaseFigures is what cmd/bench/peers says of one system.
type leaseFigures struct {
	System    string        `json:"system"`
	Clients   int           `json:"clients"`
	Servers   int           `json:"servers"`
	Interval  time.Duration `json:"interval_ns"`
	TTL       time.Duration `json:"ttl_ns"`
	ServerCPU float64       `json:"servers_cpu_percent_of_a_core"`
	ClientCPU float64       `json:"clients_cpu_percent_of_a_core"`
	Bytes     float64       `json:"tcp_bytes_per_client_and_interval"`
	Segments  float64       `json:"tcp_segments_per_client_and_interval"`
	Memory    float64       `json:"servers_bytes_per_client"`
	Detect    time.Duration `json:"detect_median_ns"`
	Worst     time.Duration `json:"detect_worst_ns"`
	Half      time.Duration `json:"half_ns"`
	Dead      int           `json:"half_clients"`
	Lost      int           `json:"lost"`
	Missed    int           `json:"missed"`
}

// leaseFigure is a figure that both systems have.
type leaseFigure struct {
	what string
	of   func(f leaseFigures) float64
	unit string
}

var leaseFigureList = []leaseFigure{
	{"CPU of all servers, to etcd", func(f leaseFigures) float64 { return f.ServerCPU }, "% of a core"},
	{"CPU of all clients, to etcd", func(f leaseFigures) float64 { return f.ClientCPU }, "% of a core"},
	{"bytes on TCP per client and interval, to etcd", func(f leaseFigures) float64 { return f.Bytes }, "B"},
	{"TCP segments per client and interval, to etcd", func(f leaseFigures) float64 { return f.Segments }, "segments"},
	{"resident memory of all servers per client, to etcd", func(f leaseFigures) float64 { return f.Memory / kibibyte }, "KiB"},
	{"from a client's death until all servers know, median, to etcd", func(f leaseFigures) float64 { return f.Detect.Seconds() }, "s"},
	{"the same, worst, to etcd", func(f leaseFigures) float64 { return f.Worst.Seconds() }, "s"},
	{"half of the clients die at once: until all servers know of all, to etcd", func(f leaseFigures) float64 { return f.Half.Seconds() }, "s"},
}

// measureLeases sets client health beside leases of etcd. No goal bounds it.
func measureLeases(ctx context.Context, b *bench) ([]line, error) {
	if b.effort() == aGlance {
		return skippedLeases("etcd is built and run from 5 rounds on"), nil
	}
	program, missing, err := buildPeers(ctx)
	if missing != "" {
		return skippedLeases(missing), nil
	}
	if err != nil {
		return nil, err
	}
	defer program.remove()
	ours, theirs, err := runLeases(ctx, program, pick(b, 1, 1, 3))
	if err != nil {
		return nil, err
	}
	return leaseLines(ours, theirs), nil
}

func skippedLeases(why string) (lines []line) {
	for _, f := range leaseFigureList {
		lines = append(lines, line{what: f.what, free: true, skipped: why})
	}
	return lines
}

// runLeases returns, for each figure, the values of the rounds.
func runLeases(ctx context.Context, program *peers, rounds int) (ours, theirs []leaseFigures, err error) {
	var all []leaseFigures
	clients := min(leaseClients, affordableConnections())
	if err := program.run(ctx, &all, "leases", "--rounds", strconv.Itoa(rounds), "--clients", strconv.Itoa(clients)); err != nil {
		return nil, nil, err
	}
	for _, f := range all {
		if f.System == "etcd" {
			theirs = append(theirs, f)
		} else {
			ours = append(ours, f)
		}
	}
	if len(ours) == 0 || len(ours) != len(theirs) {
		return nil, nil, errors.New("not both systems have figures")
	}
	return ours, theirs, nil
}

// leaseLines are the lines of rounds of both systems.
func leaseLines(ours, theirs []leaseFigures) (lines []line) {
	o := ours[0]
	basis := fmt.Sprintf("%d clients, %d servers, heard of every %v, given up after %v, over TCP on loopback", o.Clients, o.Servers, o.Interval, o.TTL)
	for i := range ours {
		for _, f := range []leaseFigures{ours[i], theirs[i]} {
			if f.Lost+f.Missed > 0 {
				basis += fmt.Sprintf("; %s gave up %d living clients and missed %d deaths", f.System, f.Lost, f.Missed)
			}
		}
	}
	for _, f := range leaseFigureList {
		var a, b []float64
		for i := range ours {
			a, b = append(a, f.of(ours[i])), append(b, f.of(theirs[i]))
		}
		lines = append(lines, line{
			what: f.what, ratio: compare(a, b), free: true,
			basis: fmt.Sprintf("%.2f : %.2f %s; %s", median(a), median(b), f.unit, basis),
		})
	}
	return lines
}
