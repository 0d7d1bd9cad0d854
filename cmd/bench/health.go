package main

import (
	"errors"
	"fmt"
	"math"
	"time"

	"ulnet/health"
	"ulnet/health/healthsim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
)

// measureControlLoad measures goal G-CH-1: the number of pings that clients send per interval.
func measureControlLoad(b *measurement) {
	servers, clients, intervals := pick(b, 20, 100, 100), pick(b, 500, 10_000, 10_000), pick(b, 5, 10, 60)
	const attached, interval = 2, 5 * time.Second
	run := func(busy string, length time.Duration) *scenario.Result {
		return must(kept(simulate(b.ctx, "idle-clients", 1, "NODES", servers+clients, "SERVERS", servers, "FIRST", servers+1, "ATTACHED", attached, "STATE", busy, "LENGTH", length)))
	}
	// count returns, per interval, the number of pings of clients, and the number of messages of
	// servers other than their questions to silent clients.
	count := func(busy string) (pings, sent float64) {
		const begin = 30 * time.Second
		first, last := run(busy, begin), run(busy, begin+time.Duration(intervals)*interval)
		per := func(name string) float64 { return (last.Measure(name) - first.Measure(name)) / float64(intervals) }
		return per("pings"), per("messages of servers") - per("of these questions to silent clients")
	}
	pings, sent := count("off")
	busyPings, digests := count("on") // clients that are busy send no pings and so get no pongs: the messages left are digests
	factor := float64(clients*servers) / pings
	basis := fmt.Sprintf("%d clients, each connected to its master and %d more of %d servers; virtual time", clients, attached, servers)
	b.add(
		line{
			what: "pings per interval of idle clients, to one of each", ratio: pings / float64(clients), limit: 1.01,
			basis: fmt.Sprintf("%.0f in %v; %s", pings, interval, basis),
		},
		line{
			what: "by how much fewer than if all pinged all: deviation from the number of servers", ratio: 100 * math.Abs(factor/float64(servers)-1), unit: "%", limit: 1,
			basis: fmt.Sprintf("factor %.2f; %s", factor, basis),
		},
		line{what: "pings per interval of clients that exchange other messages with their masters", ratio: busyPings, unit: "pings", limit: 0, basis: basis},
		line{what: "pongs per interval, to one of each client", ratio: (sent - digests) / float64(clients), free: true, basis: basis},
		line{what: "digests per interval, to one of each client", ratio: digests / float64(clients), free: true, basis: "of each server to each master; " + basis},
	)
}

// measureEvictions measures G-CH-2: how long after a client's last message it is evicted.
func measureEvictions(b *measurement) {
	servers, clients := pick(b, 100, 1000, 1000), 50
	latest, skew, deaths := 0.0, 0.0, 0
	for seed := range uint64(pick(b, 1, 3, 10)) {
		res := must(kept(simulate(b.ctx, "evictions", seed+1, "NODES", servers+clients, "SERVERS", servers, "FIRST", servers+1)))
		latest, skew, deaths = max(latest, res.Measure("evicted last after its last word")), max(skew, res.Measure("between first and last server")), deaths+int(res.Measure("evicted: timed out"))/servers
	}
	basis := fmt.Sprintf("%d deaths, %d servers, T_ping 5 s, T_evict 17.5 s; virtual time, broadcasts over binomial trees", deaths, servers)
	b.add(
		line{what: "from the last message of a client until the last server has evicted it, worst", ratio: latest / 1e3, unit: "s", limit: 19, basis: basis},
		line{what: "from the first server that evicts a client to the last, worst", ratio: skew, unit: "ms", limit: 100, basis: basis},
	)
}

// measureFalseEvictions measures goal G-CH-3: evictions of well-behaved clients in runs with random
// faults of servers and of the network.
func measureFalseEvictions(b *measurement) {
	text := string(must(scenarioFiles.ReadFile("scenarios/false-evictions.sim")))
	p := must(kit.RunPlans(b.ctx, healthsim.Protocol, scenario.Machines, 1, pick(b, 20, 10_000, 50_000), func(uint64) string { return text }))
	wrong := p.Sum["false evictions"]
	basis := fmt.Sprintf("%d runs of random faults that no client may be evicted for, %.0f masters lost, %.0f evictions for a cause", p.Runs, p.Sum["masters lost"], p.Sum["evictions by all"]-wrong)
	if p.First != nil {
		basis += fmt.Sprintf("; %.120v", p.First)
	}
	b.add(
		line{what: "false evictions of well-behaved clients", ratio: wrong, unit: "evictions", limit: 0, basis: basis},
		line{what: "runs at whose end something was not as it should be", ratio: float64(len(p.Failed)), unit: "runs", limit: 0, basis: basis},
	)
}

// measureRehoming measures goal G-CH-4: the time until the clients of a dead master have another.
func measureRehoming(b *measurement) {
	servers, clients := 10, pick(b, 300, 2000, 10_000)
	bound := must(health.Timing{}.Filled()).Client + 12*time.Millisecond // the bound allows for three round trips, and adds some slack
	var worst, last, found, evicted float64
	masters := pick(b, 1, 5, 10)
	for seed := range uint64(masters) {
		res := must(kept(simulate(b.ctx, "dead-master", seed+1, "NODES", servers+clients, "MASTER", 1+(seed+1)%uint64(servers))))
		worst, last = max(worst, res.Measure("until 95 % of these had")), max(last, res.Measure("until the last had"))
		found, evicted = found+res.Measure("clients of dead masters that found another"), evicted+res.Measure("evictions by all")
	}
	if found == 0 {
		b.check(errors.New("no client of a dead master has found another: nothing was measured"))
	}
	basis := fmt.Sprintf("%d masters of %d servers die one each in %d runs, %.0f clients of theirs; virtual time", masters, servers, masters, found)
	b.add(
		line{what: "from the death of a master until 95 % of its clients have another", ratio: worst / 1e3, unit: "s", limit: bound.Seconds(), basis: fmt.Sprintf("the last after %.3f s; %s", last/1e3, basis)},
		line{what: "clients that are evicted because their master has died", ratio: evicted, unit: "clients", limit: 0, basis: basis},
	)
}

// measureSplit measures G-CH-6: what becomes of clients when a partition divides five servers.
func measureSplit(b *measurement) {
	runs, clients := pick(b, 1, 5, 20), pick(b, 200, 1000, 5000)
	evicted, homeless, held := 0.0, 0.0, 0.0
	for seed := range uint64(runs) {
		res := must(simulate(b.ctx, "split", seed+1, "NODES", 5+clients))
		evicted += res.Measure("evictions by all")
		settled, atHome, forgotten := res.Expects[0], res.Expects[1], res.Expects[2]
		if !settled.OK {
			b.check(errors.New(settled.Why))
		}
		if !atHome.OK {
			homeless++
		}
		if !forgotten.OK {
			held++
		}
	}
	basis := fmt.Sprintf("%d runs, %d clients that reach all servers; 27.5 s after discovery has noticed; virtual time", runs, clients)
	b.add(
		line{what: "servers split 3/2: clients that are evicted", ratio: evicted, unit: "clients", limit: 0, basis: basis},
		line{what: "servers split 3/2: runs in which a client has no master in the majority", ratio: homeless, unit: "runs", limit: 0, basis: basis},
		line{what: "servers split 3/2: runs in which the minority still holds a client", ratio: held, unit: "runs", limit: 0, basis: basis},
	)
}

// measureDeaths measures the part of goal G-CH-5 that bounds the time for very many evictions.
func measureDeaths(b *measurement) {
	timing := must(health.Timing{}.Filled())
	clients := pick(b, 1000, 10_000, 10_000)
	const servers = 5
	res := must(kept(simulate(b.ctx, "mass-eviction", 1, "NODES", servers+clients)))
	b.add(line{
		what:  fmt.Sprintf("%d clients of one master die at once: from T_evict until all servers have evicted all", clients),
		ratio: (res.Measure("evicted last after its last word") - ms(timing.Evict)) / 1e3, unit: "s", limit: 2,
		basis: fmt.Sprintf("virtual time, %d servers, %.0f broadcasts of 100ms, from the first server to the last %.0f ms at most", servers, res.Measure("broadcasts"), res.Measure("between first and last server")),
	})
}
