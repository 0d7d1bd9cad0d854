package main

import (
	"fmt"
	"time"

	"ulnet/cmd/bench/rival"
)

// leaseClients is the number of clients; there are fewer if the limit of file descriptors
// requires that.
const leaseClients = 10_000

// leaseFigureList are the figures of leases and client health that are compared.
var leaseFigureList = []figure[leases]{
	{"CPU of all servers, to etcd", func(f leases) float64 { return f.serverCPU }, "% of a core"},
	{"CPU of all clients, to etcd", func(f leases) float64 { return f.clientCPU }, "% of a core"},
	{"bytes on TCP per client and interval, to etcd", func(f leases) float64 { return f.bytes }, "B"},
	{"TCP segments per client and interval, to etcd", func(f leases) float64 { return f.segments }, "segments"},
	{"resident memory of all servers per client, to etcd", func(f leases) float64 { return f.memory / kibibyte }, "KiB"},
	{"from a client's death until all servers know, median, to etcd", func(f leases) float64 { return f.detect.Seconds() }, "s"},
	{"the same, worst, to etcd", func(f leases) float64 { return f.worst.Seconds() }, "s"},
	{"half of the clients die at once: until all servers know of all, to etcd", func(f leases) float64 { return f.half.Seconds() }, "s"},
}

// measureLeases compares client health with leases of etcd. No goal bounds it.
func measureLeases(b *measurement) {
	if b.effort() == aGlance {
		b.add(skipped(leaseFigureList, "etcd is built and run from 5 rounds on")...)
		return
	}
	program := must(buildPeers(b.ctx, peersModule))
	defer program.remove()
	if program.missing != "" {
		b.add(skipped(leaseFigureList, program.missing)...)
		return
	}
	t := leaseTrial{clients: min(leaseClients, affordableConnections()), deaths: 100, measured: 10 * time.Second}
	t.Keeping = rival.Keeping{Servers: 3, Interval: 2 * time.Second, TTL: 7 * time.Second} // etcd accepts whole seconds only
	var ours, theirs []leases
	for range pick(b, 1, 1, 3) {
		ours = append(ours, t.run(b, "health", ""))
		theirs = append(theirs, t.run(b, "etcd", program.path))
	}
	b.add(t.lines(ours, theirs)...)
}

// lines returns the lines that compare both systems.
func (t leaseTrial) lines(ours, theirs []leases) []line {
	basis := fmt.Sprintf("%d clients, %d servers, heard of every %v, given up after %v, over TCP on loopback", t.clients, t.Servers, t.Interval, t.TTL)
	for i := range ours {
		for _, f := range []leases{ours[i], theirs[i]} {
			if f.lost+f.missed > 0 {
				basis += fmt.Sprintf("; %s gave up %d living clients and missed %d deaths", f.system, f.lost, f.missed)
			}
		}
	}
	return ratios(leaseFigureList, ours, theirs, "%.2f : %.2f", basis)
}
