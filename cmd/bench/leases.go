package main

import (
	"context"
	"errors"
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
	bench   *bench
	clients int
	deaths  int // of clients, first; then half of the others
	measure time.Duration
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
	ctx     context.Context
	program string
	result  leases
	servers worker.Crew
	crews   worker.Crew       // of clients
	death   map[int]time.Time // by client

	mu    sync.Mutex
	times map[int][]time.Time // by client: when servers said that it is gone; guarded by mu
}

// run runs one system: health, or etcd of a program.
func (t *leaseTrial) run(ctx context.Context, system, program string) (leases, error) {
	r := &leaseRun{leaseTrial: t, ctx: ctx, program: program, result: leases{system: system}, death: map[int]time.Time{}, times: map[int][]time.Time{}}
	folder, err := os.MkdirTemp("", "bench-leases-")
	if err != nil {
		return r.result, err
	}
	defer func() { _ = os.RemoveAll(folder) }() // it is temporary
	defer func() { r.crews.Stop(); r.servers.Stop() }()
	for _, part := range []func() error{func() error { return r.startServers(folder) }, r.connect, r.cost, r.some, r.dieByHalf} {
		if err := part(); err != nil {
			return r.result, fmt.Errorf("%s: %w", system, err)
		}
	}
	return r.result, nil
}

func (r *leaseRun) start(crew *worker.Crew, kind string, k rival.Keeping) error {
	p, err := r.bench.start(r.ctx, worker.Config{
		Kind: r.result.system + " " + kind, Program: r.program, Params: k, Patience: 90 * time.Second, Event: worker.On(r.gone),
	})
	if err == nil {
		*crew = append(*crew, p)
	}
	return err
}

// gone is told that a server gives up a client.
func (r *leaseRun) gone(d rival.Death) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times[d.Client] = append(r.times[d.Client], d.At)
}

func (r *leaseRun) startServers(folder string) (err error) {
	k := r.Keeping
	if k.Port, err = loopback.FreePort(k.Addrs()...); err != nil {
		return err
	}
	for k.Port2 = k.Port; k.Port2 == k.Port; {
		if k.Port2, err = loopback.FreePort(k.Addrs()...); err != nil {
			return err
		}
	}
	r.Keeping = k
	for k.Index = range k.Servers {
		k.Folder = filepath.Join(folder, strconv.Itoa(k.Index))
		if err := os.Mkdir(k.Folder, 0o700); err != nil {
			return err
		}
		if err := r.start(&r.servers, "server", k); err != nil {
			return err
		}
	}
	_, err = worker.ReadyAll[int](r.servers)
	return err
}

// connect starts the clients, and waits until all are connected to all.
func (r *leaseRun) connect() error {
	before, err := count(r.servers)
	if err != nil {
		return err
	}
	k := r.Keeping
	// Each of ours is connected to every server.
	for each := max(1, min(5000, affordableConnections()/k.Servers)); k.To < r.clients; {
		k.From, k.To = k.To, min(k.To+each, r.clients)
		if err := r.start(&r.crews, "clients", k); err != nil {
			return err
		}
	}
	if _, err := worker.ReadyAll[int](r.crews); err != nil {
		return err
	}
	if err := wait(r.ctx, 2*r.Interval); err != nil {
		return err
	}
	after, err := count(r.servers)
	r.result.memory = float64(after.Memory-before.Memory) / float64(r.clients)
	return err
}

// count adds up what processes have used.
func count(crew worker.Crew) (sum rival.Cost, err error) {
	all, err := worker.AskAll[rival.Cost](crew, "count", nil)
	for _, c := range all {
		sum = sum.Plus(c)
	}
	return sum, err
}

// cost measures a system in which nothing happens.
func (r *leaseRun) cost() error {
	var costs [2][2]rival.Cost // of servers and clients, before and after
	var began, ended time.Time
	for i := range 2 {
		ended = time.Now()
		for k, crew := range []worker.Crew{r.servers, r.crews} {
			var err error
			if costs[i][k], err = count(crew); err != nil {
				return err
			}
		}
		if i == 0 {
			began = time.Now()
			if err := wait(r.ctx, r.measure); err != nil {
				return err
			}
		}
	}
	lasted := ended.Sub(began)
	intervals := lasted.Seconds() / r.Interval.Seconds() * float64(r.clients)
	first, last := costs[0][0].Plus(costs[0][1]), costs[1][0].Plus(costs[1][1])
	share := func(k int) float64 { return 100 * (costs[1][k].CPU - costs[0][k].Counted).Seconds() / lasted.Seconds() }
	r.result.serverCPU, r.result.clientCPU = share(0), share(1)
	r.result.bytes, r.result.segments = float64(last.Bytes-first.Bytes)/intervals, float64(last.Segments-first.Segments)/intervals
	return nil
}

// some has a few clients die, one after the other in half an interval, so that
// the time since they were heard of differs.
func (r *leaseRun) some() error {
	const batches = 10
	for i := range batches {
		err := r.kill(r.deaths*(i+1)/batches - r.deaths*i/batches)
		if err = errors.Join(err, wait(r.ctx, r.Interval/batches/2)); err != nil {
			return err
		}
	}
	took, err := r.mourn(time.Time{})
	if err == nil {
		r.result.detect, r.result.worst = took[len(took)/2], took[len(took)-1]
	}
	return err
}

// dieByHalf has half of those that are left die at once.
func (r *leaseRun) dieByHalf() error {
	r.result.dead = (r.clients - r.deaths) / 2
	since := time.Now()
	if err := r.kill(r.result.dead); err != nil {
		return err
	}
	took, err := r.mourn(since)
	if err == nil {
		r.result.half = took[len(took)-1]
	}
	return err
}

// kill has so many clients die, as evenly from all processes as it can be.
func (r *leaseRun) kill(n int) error {
	for i, p := range r.crews {
		dead, err := worker.Ask[[]rival.Death](p, "kill", n*(i+1)/len(r.crews)-n*i/len(r.crews))
		if err != nil {
			return err
		}
		for _, d := range dead {
			r.death[d.Client] = d.At
		}
	}
	return nil
}

// mourn waits until all servers know of the deaths, and returns how long each took
// since an instant, sorted. What takes too long is missed, and counted with all the
// time there was. Who was given up before his death, or without one, is lost.
func (r *leaseRun) mourn(since time.Time) (took []time.Duration, err error) {
	limit := 3*r.TTL + 30*time.Second
	if err := await(r.ctx, limit, r.known); err != nil && r.ctx.Err() != nil {
		return nil, err
	}
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
		return nil, fmt.Errorf("all who were to die had been given up: %d", r.result.lost)
	}
	slices.Sort(took)
	return took, nil
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
