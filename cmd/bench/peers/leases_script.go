package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"ulnet/lnd/lndtest/loopback"
)

// leaseResult is what one system did.
type leaseResult struct {
	System    string        `json:"system"`
	Clients   int           `json:"clients"`
	Servers   int           `json:"servers"`
	Interval  time.Duration `json:"interval_ns"`
	TTL       time.Duration `json:"ttl_ns"`
	Connect   time.Duration `json:"connect_ns"` // until all are connected
	ServerCPU float64       `json:"servers_cpu_percent_of_a_core"`
	ClientCPU float64       `json:"clients_cpu_percent_of_a_core"`
	Bytes     float64       `json:"tcp_bytes_per_client_and_interval"`
	Segments  float64       `json:"tcp_segments_per_client_and_interval"`
	Memory    float64       `json:"servers_bytes_per_client"`
	Detect    time.Duration `json:"detect_median_ns"` // from the death until all servers know
	Worst     time.Duration `json:"detect_worst_ns"`
	Half      time.Duration `json:"half_ns"` // half of the clients die at once: until all servers know of all
	Dead      int           `json:"half_clients"`
	Lost      int           `json:"lost"`   // clients that were given up though they were well
	Missed    int           `json:"missed"` // deaths that not all servers knew of when patience was over
}

// trial is one run of a system.
type trial struct {
	*leaseOptions
	*crew
	result leaseResult
	death  map[int]time.Time // by client
}

// script runs one system: everybody connects, cost is measured, some die, then
// half of the rest.
func (o *leaseOptions) script(system string) (r leaseResult, err error) {
	t := &trial{leaseOptions: o, death: map[int]time.Time{}, result: leaseResult{
		System: system, Clients: o.clients, Servers: o.servers, Interval: o.interval, TTL: o.ttl,
	}}
	folder, err := os.MkdirTemp("", "peers-leases-")
	if err != nil {
		return r, err
	}
	defer func() { _ = os.RemoveAll(folder) }() // it is temporary
	began := time.Now()
	if t.crew, err = newCrew(o.stop); err != nil {
		return r, err
	}
	defer t.end()
	for _, part := range []func() error{
		func() error { return t.startServers(system, folder) }, func() error { return t.connect(system) }, t.cost, t.some, t.half,
	} {
		if err := part(); err != nil {
			return t.result, err
		}
	}
	fmt.Fprintf(os.Stderr, "  took %v\n", time.Since(began).Round(time.Second))
	return t.result, nil
}

func (t *trial) startServers(system, folder string) error {
	addrs := t.serverAddrs()
	port, err := loopback.FreePort(addrs...)
	if err != nil {
		return err
	}
	t.port = port
	for t.port2 = port; t.port2 == port; {
		if t.port2, err = loopback.FreePort(addrs...); err != nil {
			return err
		}
	}
	for i := range t.servers {
		place := filepath.Join(folder, strconv.Itoa(i))
		if err := os.Mkdir(place, 0o700); err != nil {
			return err
		}
		args := append(t.childArgs(system, "server"), "--index", strconv.Itoa(i), "--folder", place)
		if err := t.start(true, args); err != nil {
			return err
		}
	}
	return t.ready(30 * time.Second)
}

// childArgs are the arguments of all children.
func (t *trial) childArgs(system, as string) []string {
	return []string{
		"leases", "--as", as, "--systems", system, "--clients", strconv.Itoa(t.clients), "--servers", strconv.Itoa(t.servers),
		"--interval", t.interval.String(), "--ttl", t.ttl.String(), "--deaths", strconv.Itoa(t.deaths),
		"--port", strconv.Itoa(int(t.port)), "--port2", strconv.Itoa(int(t.port2)),
	}
}

// connect starts the clients, and waits until all are connected to all.
func (t *trial) connect(system string) error {
	before, err := t.count(true)
	if err != nil {
		return err
	}
	began := time.Now()
	for from := 0; from < t.clients; from += t.clientsAProcess() {
		to := min(from+t.clientsAProcess(), t.clients)
		args := append(t.childArgs(system, "clients"), "--from", strconv.Itoa(from), "--to", strconv.Itoa(to))
		if err := t.start(false, args); err != nil {
			return err
		}
	}
	if err := t.ready(t.connectLimit); err != nil {
		return err
	}
	t.result.Connect = time.Since(began)
	if err := t.rest(2 * t.interval); err != nil {
		return err
	}
	after, err := t.count(true)
	t.result.Memory = float64(after.Memory-before.Memory) / float64(t.clients)
	return err
}

// cost measures a system in which nothing happens.
func (t *trial) cost() error {
	first, err := t.everything()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := t.rest(t.measure); err != nil {
		return err
	}
	lasted := time.Since(began)
	last, err := t.everything()
	intervals := lasted.Seconds() / t.interval.Seconds() * float64(t.clients)
	r := &t.result
	r.ServerCPU = 100 * (last[0].CPU - first[0].Counted).Seconds() / lasted.Seconds()
	r.ClientCPU = 100 * (last[1].CPU - first[1].Counted).Seconds() / lasted.Seconds()
	r.Bytes = float64(last[0].Bytes+last[1].Bytes-first[0].Bytes-first[1].Bytes) / intervals
	r.Segments = float64(last[0].Segments+last[1].Segments-first[0].Segments-first[1].Segments) / intervals
	r.Lost = len(t.gone())
	return err
}

// everything counts servers and clients.
func (t *trial) everything() (both [2]figures, err error) {
	for i, servers := range []bool{true, false} {
		if both[i], err = t.count(servers); err != nil {
			return both, err
		}
	}
	return both, nil
}

// some has a few clients die, one after the other in half an interval, so that
// the time since they were heard of differs.
func (t *trial) some() error {
	const batches = 10
	for i := range batches {
		if err := t.kill(t.deaths*(i+1)/batches - t.deaths*i/batches); err != nil {
			return err
		}
		if err := t.rest(t.interval / batches / 2); err != nil {
			return err
		}
	}
	took, err := t.mourn(time.Time{})
	if err == nil {
		t.result.Detect, t.result.Worst = took[len(took)/2], took[len(took)-1]
	}
	return err
}

// half has half of those that are left die at once.
func (t *trial) half() error {
	t.result.Dead = (t.clients - t.deaths) / 2
	since := time.Now()
	if err := t.kill(t.result.Dead); err != nil {
		return err
	}
	took, err := t.mourn(since)
	if err == nil {
		t.result.Half = took[len(took)-1]
	}
	return err
}

// kill has so many clients die.
func (t *trial) kill(n int) error {
	dead, err := t.crew.kill(n)
	for _, d := range dead {
		t.death[d.Client] = time.Unix(0, d.At)
	}
	return err
}

// mourn waits until all servers know of the deaths, and returns how long each took
// since an instant, sorted. What takes too long is missed, and counted with all the
// time there was. Who was given up before his death, or without one, is lost.
func (t *trial) mourn(since time.Time) ([]time.Duration, error) {
	var gone map[int][]time.Time
	known := func() bool {
		gone = t.gone()
		for client := range t.death {
			if len(gone[client]) < t.servers {
				return false
			}
		}
		return true
	}
	limit := 3*t.ttl + 30*time.Second
	if _, err := t.wait(limit, known); err != nil {
		return nil, err
	}
	t.result.Lost, t.result.Missed = 0, 0
	for client, times := range gone {
		if died, ok := t.death[client]; !ok || slices.MinFunc(times, time.Time.Compare).Before(died) {
			t.result.Lost++
			delete(t.death, client)
		}
	}
	var took []time.Duration
	for client, died := range t.death {
		last := limit
		if times := gone[client]; len(times) >= t.servers {
			last = slices.MaxFunc(times, time.Time.Compare).Sub(died)
		} else {
			t.result.Missed++
		}
		if !died.Before(since) {
			took = append(took, last)
		}
	}
	if len(took) == 0 {
		return nil, fmt.Errorf("all who were to die had been given up: %d", t.result.Lost)
	}
	slices.Sort(took)
	return took, nil
}
