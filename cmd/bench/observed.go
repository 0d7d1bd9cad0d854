package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/cmd/bench/worker"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/modules"
	daemon "ulnet/cmd/internal/node"
)

// Parameters of goal G-OP-1.
const (
	observedRound  = 2 * time.Second // length of a round
	observedTrips  = 2000            // round trips between two checks whether the round is over
	observedStream = 64              // PUTs of 1 MiB between two checks whether the round is over
	scrapeInterval = time.Second
	observedLimit  = 1.03
)

// measureObserved measures goal G-OP-1: a node like that of lnetd, with metrics and the web page on. Another
// process scrapes the metrics once a second and follows the page. measureObserved compares rounds in which
// that process does this with rounds in which it waits.
func measureObserved(b *measurement) {
	socket := socketOf(b)
	peer := b.begin(worker.Config{Kind: "peer"})
	own := startObserved(b, ownAddr, must(worker.Ready[greeting](peer)).LNet, socket)
	node := own.initiate(b.ctx, processAt(peerAddr))
	observer := b.serve("observer", socket, nil)
	length := pick(b, observedRound/40, observedRound, observedRound)
	compare := func(n int, run func() (time.Duration, error)) (on, off *contender) {
		off = &contender{name: "without", run: func(*contender) (latencies, error) { return repeated(length, n, run) }}
		on = &contender{name: "with", run: func(*contender) (latencies, error) {
			if _, err := worker.Ask[bool](observer, "begin", nil); err != nil {
				return nil, err
			}
			took, err := repeated(length, n, run)
			_, ended := worker.Ask[seen](observer, "end", nil)
			return took, cmp.Or(err, ended)
		}}
		return on, off
	}
	on, off := compare(observedTrips, func() (time.Duration, error) { return node.pingPong(b.ctx, bitsHandler, observedTrips) })
	put, putOff := compare(observedStream, func() (time.Duration, error) { return node.putStream(b.ctx, observedStream, window) })
	b.alternate(b.rounds, off, on, putOff, put)
	const what = ", with a scrape a second and the page open, to neither"
	b.add(
		on.half(off, "8 B PUT half round trip, handler to handler"+what, observedLimit),
		put.speed(putOff, "1 MiB PUT streaming"+what, 2-observedLimit, mebibytes, "%.2f GiB/s"),
	)
}

// repeated calls run again and again, until the times that it returns add up to length or more. Each
// call performs n operations and returns how long they took. The result is the mean latency of one
// operation.
func repeated(length time.Duration, n int, run func() (time.Duration, error)) (latencies, error) {
	var took time.Duration
	ops := 0
	for took < length {
		one, err := run()
		if err != nil {
			return nil, err
		}
		took, ops = took+one, ops+n
	}
	return latencies{float64(took) / float64(ops)}, nil
}

// startObserved starts a node with all modules of lnetd, with metrics and the web page at a socket.
func startObserved(b *measurement, addr netip.Addr, port uint16, socket string) *node {
	cfg := config.Default()
	cfg.Networks, cfg.AcceptPort, cfg.Metrics = "tcp("+addr.String()+")", int(port), socket
	n := &node{id: processAt(addr)}
	whole := must(daemon.New(daemon.Config{Config: cfg, Log: slog.New(slog.DiscardHandler), Modules: func(h daemon.Host) []daemon.Module {
		n.table, n.clock = h.Table, h.Clock
		return modules.List(h)
	}}))
	b.ends = append(b.ends, func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = whole.Shutdown(ctx) // an error makes no difference: the process ends
	})
	return n
}

// socketOf returns the path of a socket in a new folder.
func socketOf(b *measurement) string {
	folder := must(os.MkdirTemp("", "observed"))
	b.ends = append(b.ends, func() { _ = os.RemoveAll(folder) })
	return filepath.Join(folder, "m")
}

// seen is what an observer got in a round.
type seen struct {
	Scrapes  uint64
	Messages uint64 // lines of the event stream of the web page
}

// observer scrapes the metrics of a node and follows its web page.
type observer struct {
	client  http.Client
	scrapes atomic.Uint64
	pages   atomic.Uint64
}

func newObserver(socket string) *observer {
	return &observer{client: http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}}
}

// serveObserver prepares an observer of the node whose page is at a socket. The order "begin" starts its
// scrapes and its reading of the page, and "end" stops both and returns how much came.
func serveObserver(w *worker.Worker, socket string) (ready struct{}) {
	o := newObserver(socket)
	var running sync.WaitGroup
	var cancel context.CancelFunc
	worker.Order(w, "begin", func(struct{}) (bool, error) {
		var ctx context.Context
		ctx, cancel = context.WithCancel(w.Context())
		o.scrapes.Store(0)
		o.pages.Store(0)
		first := make(chan error, 2)
		running.Go(func() { o.scrape(ctx, first) })
		running.Go(func() { o.follow(ctx, first) })
		return true, cmp.Or(<-first, <-first)
	})
	worker.Order(w, "end", func(struct{}) (s seen, err error) {
		cancel()
		running.Wait()
		s = seen{o.scrapes.Load(), o.pages.Load()}
		if s.Scrapes == 0 || s.Messages == 0 {
			err = fmt.Errorf("%d scrapes, %d messages of the page", s.Scrapes, s.Messages)
		}
		return s, err
	})
	return ready
}

// get begins to read a page.
func (o *observer) get(ctx context.Context, path string) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://lnetd"+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := o.client.Do(r)
	if err == nil && answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		return nil, fmt.Errorf("%s: %s", path, answer.Status)
	}
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// scrape scrapes once a second until ctx ends. It sends the error of the first scrape, or nil, to first.
func (o *observer) scrape(ctx context.Context, first chan<- error) {
	tick := time.NewTicker(scrapeInterval)
	defer tick.Stop()
	for n := 0; ; n++ {
		body, err := o.get(ctx, "/metrics")
		if err == nil {
			_, err = io.Copy(io.Discard, body)
			body.Close()
		}
		if err == nil {
			o.scrapes.Add(1)
		}
		if n == 0 {
			first <- err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// follow reads the events of the page until ctx ends. It sends nil to first when the first event has
// come, or the error if none comes.
func (o *observer) follow(ctx context.Context, first chan<- error) {
	body, err := o.get(ctx, "/events")
	if err != nil {
		first <- err
		return
	}
	defer body.Close()
	r := bufio.NewReader(body)
	for n := 0; ; n++ {
		if _, err := r.ReadString('\n'); err != nil {
			if n == 0 {
				first <- err
			}
			return
		}
		o.pages.Add(1)
		if n == 0 {
			first <- nil
		}
	}
}
