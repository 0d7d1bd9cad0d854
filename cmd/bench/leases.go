package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"ulnet/cmd/bench/rival"
	"ulnet/cmd/bench/worker"
	"ulnet/lnd/lndtest/loopback"
)

// leaseTrial is what servers and their clients go through: everybody connects, cost is
// measured, some clients die, then half of the rest. They die without a word: their
// connections end, which neither side takes for a death.
type leaseTrial struct {
	clients  int
	deaths   int           // of clients, first; then half of the others
	measured time.Duration // of a system in which nothing happens
	rival.Keeping
}

// leases is what one system did.
type leases struct {
	system               string
	serverCPU, clientCPU float64 // per cent of a core
	bytes, segments      float64 // of TCP, of a client in an interval
	memory               float64 // of the servers, of a client
	detect, worst        time.Duration
	half                 time.Duration // half of the clients die at once: until all servers know of all
	dead                 int           // by then
	lost                 int           // clients that were given up though they were well
	missed               int           // deaths that not all servers knew of when patience was over
}

// leaseRun is a system in it.
type leaseRun struct {
	*leaseTrial
	*measurement
	program string
	result  leases
	servers worker.Crew
	crews   worker.Crew       // of clients
	death   map[int]time.Time // by client

	mu    sync.Mutex
	times map[int][]time.Time // by client: when servers said that it is gone; guarded by mu
}

// run runs one system: health, or etcd of a program.
func (t *leaseTrial) run(b *measurement, system, program string) leases {
	r := &leaseRun{leaseTrial: t, measurement: b, program: program, result: leases{system: system}, death: map[int]time.Time{}, times: map[int][]time.Time{}}
	folder := must(os.MkdirTemp("", "bench-leases-"))
	defer func() { _ = os.RemoveAll(folder) }() // it is temporary
	defer func() { r.crews.Stop(); r.servers.Stop() }()
	r.startServers(folder)
	r.connect()
	r.cost()
	r.some()
	r.dieByHalf()
	return r.result
}

func (r *leaseRun) start(crew *worker.Crew, kind string, k rival.Keeping) {
	*crew = append(*crew, must(r.bench.start(r.ctx, worker.Config{
		Kind: r.result.system + " " + kind, Program: r.program, Params: k, Patience: 90 * time.Second, Event: worker.On(r.gone),
	})))
}

// gone is told that a server gives up a client.
func (r *leaseRun) gone(d rival.Death) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times[d.Client] = append(r.times[d.Client], d.At)
}

func (r *leaseRun) startServers(folder string) {
	k := r.Keeping
	k.Port = must(loopback.FreePort(k.Addrs()...))
	for k.Port2 = k.Port; k.Port2 == k.Port; {
		k.Port2 = must(loopback.FreePort(k.Addrs()...))
	}
	r.Keeping = k
	for k.Index = range k.Servers {
		k.Folder = filepath.Join(folder, strconv.Itoa(k.Index))
		r.check(os.Mkdir(k.Folder, 0o700))
		r.start(&r.servers, "server", k)
	}
	must(worker.ReadyAll[int](r.servers))
}

// connect starts the clients, and waits until all are connected to all.
func (r *leaseRun) connect() {
	before := count(r.servers)
	k := r.Keeping
	// Each of ours is connected to every server.
	for each := max(1, min(5000, affordableConnections()/k.Servers)); k.To < r.clients; {
		k.From, k.To = k.To, min(k.To+each, r.clients)
		r.start(&r.crews, "clients", k)
	}
	must(worker.ReadyAll[int](r.crews))
	r.check(wait(r.ctx, 2*r.Interval))
	r.result.memory = float64(count(r.servers).Memory-before.Memory) / float64(r.clients)
}

// count adds up what processes have used.
func count(crew worker.Crew) (sum rival.Cost) {
	for _, c := range must(worker.AskAll[rival.Cost](crew, "count", nil)) {
		sum = sum.Plus(c)
	}
	return sum
}

// cost measures a system in which nothing happens.
func (r *leaseRun) cost() {
	var costs [2][2]rival.Cost // of servers and clients, before and after
	var began, ended time.Time
	for i := range 2 {
		ended = time.Now()
		costs[i] = [2]rival.Cost{count(r.servers), count(r.crews)}
		if i == 0 {
			began = time.Now()
			r.check(wait(r.ctx, r.measured))
		}
	}
	lasted := ended.Sub(began)
	intervals := lasted.Seconds() / r.Interval.Seconds() * float64(r.clients)
	first, last := costs[0][0].Plus(costs[0][1]), costs[1][0].Plus(costs[1][1])
	share := func(k int) float64 { return 100 * (costs[1][k].CPU - costs[0][k].Counted).Seconds() / lasted.Seconds() }
	r.result.serverCPU, r.result.clientCPU = share(0), share(1)
	r.result.bytes, r.result.segments = float64(last.Bytes-first.Bytes)/intervals, float64(last.Segments-first.Segments)/intervals
}

// some has a few clients die, one after the other in half an interval, so that
// the time since they were heard of differs.
func (r *leaseRun) some() {
	const batches = 10
	for i := range batches {
		r.kill(r.deaths*(i+1)/batches - r.deaths*i/batches)
		r.check(wait(r.ctx, r.Interval/batches/2))
	}
	took := r.mourn(time.Time{})
	r.result.detect, r.result.worst = took[len(took)/2], took[len(took)-1]
}

// dieByHalf has half of those that are left die at once.
func (r *leaseRun) dieByHalf() {
	r.result.dead = (r.clients - r.deaths) / 2
	since := time.Now()
	r.kill(r.result.dead)
	took := r.mourn(since)
	r.result.half = took[len(took)-1]
}

// kill has so many clients die, as evenly from all processes as it can be.
func (r *leaseRun) kill(n int) {
	for i, p := range r.crews {
		for _, d := range must(worker.Ask[[]rival.Death](p, "kill", n*(i+1)/len(r.crews)-n*i/len(r.crews))) {
			r.death[d.Client] = d.At
		}
	}
}

// mourn waits until all servers know of the deaths, and returns how long each took
// since an instant, sorted. What takes too long is missed, and counted with all the
// time there was. Who was given up before his death, or without one, is lost.
func (r *leaseRun) mourn(since time.Time) (took []time.Duration) {
	limit := 3*r.TTL + 30*time.Second
	_ = await(r.ctx, limit, r.known) // what was missed is counted
	r.check(nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.lost, r.result.missed = 0, 0
	for client, times := range r.times {
		if died, ok := r.death[client]; !ok || slices.MinFunc(times, time.Time.Compare).Before(died) {
			r.result.lost++
			delete(r.death, client)
		}
	}
	for client, died := range r.death {
		last := limit
		if times := r.times[client]; len(times) >= r.Servers {
			last = slices.MaxFunc(times, time.Time.Compare).Sub(died)
		} else {
			r.result.missed++
		}
		if !died.Before(since) {
			took = append(took, last)
		}
	}
	if len(took) == 0 {
		r.check(fmt.Errorf("all who were to die had been given up: %d", r.result.lost))
	}
	slices.Sort(took)
	return took
}

// known reports whether all servers know of all deaths.
func (r *leaseRun) known() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for client := range r.death {
		if len(r.times[client]) < r.Servers {
			return false
		}
	}
	return true
}
