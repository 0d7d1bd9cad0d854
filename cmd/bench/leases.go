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

// leaseTrial is the script for servers and their clients: all clients connect, the cost while
// idle is measured, some clients die, and then half of the rest die at once. A death closes the
// connections of the client. Neither system takes closed connections as a sign of death, so both
// detect it by timeout.
type leaseTrial struct {
	clients  int
	deaths   int           // number of clients that die first; half of the others die later
	measured time.Duration // time over which the cost is measured while nothing happens
	rival.Keeping
}

// leases are the measurements of one system.
type leases struct {
	system               string
	serverCPU, clientCPU float64 // CPU time of servers and of clients, in percent of a core
	bytes, segments      float64 // bytes and segments sent over TCP, per client and interval
	memory               float64 // memory of all servers together in bytes, per client
	detect, worst        time.Duration
	half                 time.Duration // after half of the clients died at once: time until all servers know of all these deaths
	dead                 int           // number of clients that have died so far
	lost                 int           // number of live clients that servers gave up
	missed               int           // number of deaths that not all servers detected in time
}

// leaseRun is a run of the script with one system.
type leaseRun struct {
	*leaseTrial
	*measurement
	program string
	result  leases
	servers worker.Crew
	crews   worker.Crew       // processes that run the clients
	death   map[int]time.Time // the time at which each client died

	mu    sync.Mutex
	times map[int][]time.Time // for each client, when the servers gave it up; guarded by mu
}

// run runs the script with one system: with client health, or with the etcd in the given
// program.
func (t *leaseTrial) run(b *measurement, system, program string) leases {
	r := &leaseRun{leaseTrial: t, measurement: b, program: program, result: leases{system: system}, death: map[int]time.Time{}, times: map[int][]time.Time{}}
	folder := must(os.MkdirTemp("", "bench-leases-"))
	defer func() { _ = os.RemoveAll(folder) }() // failing to remove a temporary folder does no harm
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

// gone records that a server has given up a client.
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

// connect starts the clients, and waits until all are connected to all servers.
func (r *leaseRun) connect() {
	before := count(r.servers)
	k := r.Keeping
	// Each client of ulnet is connected to every server, so a process has only as many clients as its file
	// descriptors allow.
	for each := max(1, min(5000, affordableConnections()/k.Servers)); k.To < r.clients; {
		k.From, k.To = k.To, min(k.To+each, r.clients)
		r.start(&r.crews, "clients", k)
	}
	must(worker.ReadyAll[int](r.crews))
	r.check(wait(r.ctx, 2*r.Interval))
	r.result.memory = float64(count(r.servers).Memory-before.Memory) / float64(r.clients)
}

// count returns the total cost of the processes in crew.
func count(crew worker.Crew) (sum rival.Cost) {
	for _, c := range must(worker.AskAll[rival.Cost](crew, "count", nil)) {
		sum = sum.Plus(c)
	}
	return sum
}

// cost measures the system while nothing happens.
func (r *leaseRun) cost() {
	var costs [2][2]rival.Cost // costs at the beginning and at the end, each time those of the servers and of the clients
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

// some kills a few clients, spread over half an interval so that they die at different times
// after their last message.
func (r *leaseRun) some() {
	const batches = 10
	for i := range batches {
		r.kill(r.deaths*(i+1)/batches - r.deaths*i/batches)
		r.check(wait(r.ctx, r.Interval/batches/2))
	}
	took := r.detected(time.Time{})
	r.result.detect, r.result.worst = took[len(took)/2], took[len(took)-1]
}

// dieByHalf kills half of the remaining clients at once.
func (r *leaseRun) dieByHalf() {
	r.result.dead = (r.clients - r.deaths) / 2
	since := time.Now()
	r.kill(r.result.dead)
	took := r.detected(since)
	r.result.half = took[len(took)-1]
}

// kill kills n clients, distributed evenly over the processes.
func (r *leaseRun) kill(n int) {
	for i, p := range r.crews {
		for _, d := range must(worker.Ask[[]rival.Death](p, "kill", n*(i+1)/len(r.crews)-n*i/len(r.crews))) {
			r.death[d.Client] = d.At
		}
	}
}

// detected waits until all servers have given up the dead clients, and returns the sorted detection
// times of the deaths that happened after the time since. A death that is not detected within the
// limit counts as missed, and the limit stands for its detection time. A client counts as lost if a
// server gave it up while it was alive.
func (r *leaseRun) detected(since time.Time) (took []time.Duration) {
	limit := 3*r.TTL + 30*time.Second
	_ = await(r.ctx, limit, r.known) // a timeout is no error here, because missed deaths are counted below
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

// known reports whether all servers have detected all deaths.
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
