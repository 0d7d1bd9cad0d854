package main

import (
	"net/netip"
	"time"

	"ulnet/cmd/bench/rival"
	"ulnet/cmd/bench/worker"
)

// natsCallers returns the contender whose callers send requests to NATS, or says why there is
// none. It has three processes: a server, a client that answers, and a client whose callers share
// its connection.
func (b *measurement) natsCallers(trips int) (c *contender, missing string) {
	if b.effort() == aGlance {
		return nil, "NATS is built and run from 5 rounds on"
	}
	program := must(buildPeers(b.ctx, peersModule))
	b.ends = append(b.ends, program.remove)
	if program.missing != "" {
		return nil, program.missing
	}
	return b.natsProcesses(program.path, trips), ""
}

// natsProcesses starts the three processes that natsCallers describes. The program contains NATS's server and
// its client library.
func (b *measurement) natsProcesses(program string, trips int) *contender {
	start := func(kind string, params any, within func(func() error) error) *worker.Process {
		return b.begin(worker.Config{Kind: "nats " + kind, Program: program, Params: params, Within: within})
	}
	server := start("server", struct{}{}, nil)
	at := must(worker.Ready[netip.AddrPort](server))
	responder := start("responder", at, nil)
	must(worker.Ready[bool](responder))
	client := start("callers", at, onOwnCore) // the callers' process shares the core of this process, which only waits while NATS is measured
	must(worker.Ready[bool](client))
	all := worker.Crew{server, responder, client}
	return &contender{name: "NATS", run: func(of *contender) (latencies, error) {
		before := cpuOf(all)
		took, err := worker.Ask[time.Duration](client, "call", rival.Calls{Callers: manyCallers, Count: trips})
		of.cpu = append(of.cpu, float64(cpuOf(all)-before)/float64(trips))
		return latencies{float64(took) / float64(trips)}, err
	}}
}

// cpuOf returns the CPU time of some workers so far.
func cpuOf(crew worker.Crew) (sum time.Duration) {
	for _, t := range must(worker.AskAll[time.Duration](crew, "cpu", nil)) {
		sum += t
	}
	return sum
}
