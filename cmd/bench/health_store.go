package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ulnet/health"
	"ulnet/health/boltstore"
	"ulnet/health/engine"
	healthwire "ulnet/health/wire"
)

// connectsInFlight is the number of connections that wait for the store at any time.
const connectsInFlight = 1000

// intake is how fast a store saves very many connections.
type intake struct {
	rate, p99 float64 // records per second, and 99th percentile of the wait in ms
}

// measureStore measures the part of goal G-CH-5 about saving records.
func measureStore(b *measurement) {
	folder := must(os.MkdirTemp("", "bench-boltstore-"))
	defer func() { _ = os.RemoveAll(folder) }() // failing to remove a temporary folder does no harm
	disk := measureDisk(folder, pick(b, 20, 1000, 1000))
	existing, records := pick(b, 2000, 100_000, 100_000), pick(b, 4000, 200_000, 500_000)
	basis := fmt.Sprintf("%d new clients beside %d, %d in flight, each from the call until it is durable; two writes of such a commit, each synchronized, take this disk %.1f ms (p99)", records, existing, connectsInFlight, disk)
	for _, delay := range []time.Duration{0, 5 * time.Millisecond} {
		in := measureIntake(b, folder, delay, existing, records, floodStore)
		what, least := "connection records saved per second", 50_000.0
		if delay > 0 {
			what, least = what+fmt.Sprintf(", %v added to each commit", delay), 20_000
		}
		b.add(
			line{what: what, ratio: in.rate, unit: "records", limit: least, least: true, basis: basis},
			line{what: what + ": p99 of the wait for the disk", ratio: in.p99, unit: "ms", limit: 30, free: delay > 0, basis: basis},
		)
	}
	early := 0
	in := measureIntake(b, folder, 0, existing, records, func(s *boltstore.Store, first, n int) ([]time.Duration, error) {
		took, more, err := floodMaster(b.ctx, s, first, n)
		early += more
		return took, err
	})
	basis = fmt.Sprintf("%d connects beside %d records, %d in flight, from the connect until the accept leaves the machine; p99 %.1f ms", records, existing, connectsInFlight, in.p99)
	b.add(
		line{what: "clients accepted per second by a master that saves them", ratio: in.rate, unit: "clients", free: true, basis: basis},
		line{what: "the same: accepts that were sent before their record was durable", ratio: float64(early), unit: "accepts", limit: 0, basis: basis},
	)
}

// measureIntake floods several new stores, and returns the medians of their results.
func measureIntake(b *measurement, folder string, delay time.Duration, existing, records int, flood func(s *boltstore.Store, first, n int) ([]time.Duration, error)) intake {
	var rates, waits []float64
	for i := range pick(b, 1, 3, 5) {
		b.check(nil)
		path := filepath.Join(folder, fmt.Sprintf("connections-%d.db", i))
		took, elapsed := must2(floodOnce(path, delay, existing, records, flood))
		slices.Sort(took)
		rates = append(rates, float64(records)/elapsed.Seconds())
		waits = append(waits, float64(took[len(took)*99/100])/1e6)
	}
	return intake{median(rates), median(waits)}
}

// floodOnce fills a store, floods it with more records, checks that it contains all of them, and
// removes it.
func floodOnce(path string, delay time.Duration, existing, records int, flood func(*boltstore.Store, int, int) ([]time.Duration, error)) (took []time.Duration, elapsed time.Duration, err error) {
	s, err := boltstore.Open(boltstore.Config{Path: path, CommitDelay: delay})
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, s.Close(), os.Remove(path)) }()
	if _, err := floodStore(s, 0, existing); err != nil {
		return nil, 0, err
	}
	began := time.Now()
	took, err = flood(s, existing, records)
	elapsed = time.Since(began)
	if st := s.Stats(); err == nil && st.Records != existing+records {
		err = fmt.Errorf("%d of %d records are in the store", st.Records, existing+records)
	}
	return took, elapsed, err
}

// floodStore saves n records, and keeps connectsInFlight of them waiting at any time.
func floodStore(s *boltstore.Store, first, n int) ([]time.Duration, error) {
	took := make([]time.Duration, n)
	slots := make(chan error, connectsInFlight)
	for range connectsInFlight {
		slots <- nil
	}
	var failed error
	for i := range n {
		r := crowdRecord(first + i)
		failed = errors.Join(failed, <-slots)
		began := time.Now()
		s.Save(r, func(err error) {
			took[i] = time.Since(began)
			slots <- err
		})
	}
	for range connectsInFlight {
		failed = errors.Join(failed, <-slots)
	}
	return took, failed
}

func crowdRecord(i int) health.Record {
	return health.Record{
		Client: crowdID(i), Incarnation: 1, Master: crowdServers[0], Epoch: 1, Peer: crowdHost(i), Name: fmt.Sprintf("client%06d", i),
	}
}

// gate is a master with a store, which accepts a client when its record is durable.
type gate struct {
	mu      sync.Mutex
	server  *engine.Server // the server's state machine; mu guards it and all fields below
	out     engine.ServerOutput
	store   *boltstore.Store
	began   map[health.ClientID]time.Time
	took    []time.Duration
	durable map[health.ClientID]bool
	early   int // number of clients that were accepted before their records were durable
	failed  error
	slots   chan struct{}
}

// floodMaster lets n clients connect, keeps connectsInFlight of them waiting to be accepted, and
// counts those that were accepted before their records were durable.
func floodMaster(ctx context.Context, s *boltstore.Store, first, n int) (took []time.Duration, early int, err error) {
	g := &gate{store: s, began: make(map[health.ClientID]time.Time), durable: make(map[health.ClientID]bool), slots: make(chan struct{}, connectsInFlight)}
	if g.server, err = engine.NewServer(engine.ServerConfig{Self: crowdServers[0], Incarnation: 1, Servers: crowdServers[:1], MaxClients: n}); err != nil {
		return nil, 0, err
	}
	g.do(engine.ServerInput{Kind: engine.QuorumIs, Alive: true})
	for i := range n + connectsInFlight {
		select {
		case g.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
		if i < n {
			g.connect(first + i)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.took) != n {
		g.failed = errors.Join(g.failed, fmt.Errorf("%d of %d clients were accepted", len(g.took), n))
	}
	return g.took, g.early, g.failed
}

func (g *gate) connect(i int) {
	id, request := crowdID(i), crowdConnect(i, crowdServers[0])
	g.mu.Lock()
	g.began[id] = time.Now()
	g.mu.Unlock()
	g.do(engine.ServerInput{Kind: engine.Arrived, From: crowdHost(i), Data: request})
}

// do passes an input to the state machine, whose clock stands still, so that no timeout expires.
func (g *gate) do(in engine.ServerInput) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.out.Reset()
	g.server.Step(time.Hour, in, &g.out)
	for k := range g.out.Effects {
		switch e := &g.out.Effects[k]; e.Kind {
		case engine.DoSave:
			id, client := e.ID, e.Record.Client
			g.store.Save(*e.Record, func(err error) { g.saved(id, client, err) })
		case engine.DoSend:
			g.answered(g.out.Data(e))
		}
	}
}

// saved passes the result of saving a record to the machine. The store's goroutine calls it.
func (g *gate) saved(id uint64, client health.ClientID, err error) {
	g.mu.Lock()
	g.durable[client] = err == nil
	g.failed = errors.Join(g.failed, err)
	g.mu.Unlock()
	g.do(engine.ServerInput{Kind: engine.Saved, ID: id, Failed: err != nil})
}

// answered handles a message that the machine sends to a client. The caller holds g.mu.
func (g *gate) answered(data []byte) {
	m, err := healthwire.ParseMessage(data)
	switch {
	case err != nil || m.Kind != healthwire.Accept:
		g.failed = errors.Join(g.failed, err, fmt.Errorf("a client is told %v %v", m.Kind, m.Code))
	case !g.durable[m.Client]:
		g.early++
	}
	g.took = append(g.took, time.Since(g.began[m.Client]))
	delete(g.began, m.Client)
	delete(g.durable, m.Client)
	<-g.slots
}

// measureDisk measures the least work that a commit of some hundred records takes, which is to
// write and synchronize 64 KiB, and then to write and synchronize a page. It returns the 99th
// percentile of the time in ms.
func measureDisk(folder string, times int) (p99 float64) {
	f := must(os.Create(filepath.Join(folder, "disk")))
	defer func() { succeed(errors.Join(f.Close(), os.Remove(f.Name()))) }()
	data := make([]byte, 64<<10)
	took := make([]time.Duration, times)
	for i := range took {
		began := time.Now()
		for _, n := range []int{len(data), 4096} {
			must(f.WriteAt(data[:n], int64(i%100*len(data))))
			succeed(f.Sync())
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return float64(took[len(took)*99/100]) / 1e6
}
