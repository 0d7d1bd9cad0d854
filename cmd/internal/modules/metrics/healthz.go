package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// probeTimeout bounds the time that a request of /healthz waits for the node.
const probeTimeout = 3 * time.Second

var errStuck = errors.New("the node does not answer: SIGABRT makes lnetd write where its goroutines wait, and end")

// healthz answers whether the node works, and 503 if it does not, so that a service manager
// restarts a daemon that is stuck. probe returns nil if the node works, and may never return.
func healthz(probe func(context.Context) error) http.Handler {
	p := prober{probe: probe}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := p.ask(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
}

// prober probes the node for requests. One probe runs at a time, for all requests that wait, so
// that a node that is stuck keeps one goroutine and not one for each request. There are as many
// probes as answers of other pages; further requests get the last result.
type prober struct {
	probe func(context.Context) error

	mu     sync.Mutex
	last   *result // guarded by mu
	tokens tokens  // guarded by mu
}

// result is the result of a probe.
type result struct {
	done chan struct{} // closed when the probe has returned
	err  error         // set before done is closed
}

// ask returns the result of a probe, or errStuck if there is none in time.
func (p *prober) ask(ctx context.Context) error {
	r := p.current()
	late := time.NewTimer(probeTimeout)
	defer late.Stop()
	select {
	case <-r.done:
		return r.err
	case <-late.C:
		return errStuck
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// current returns the probe that runs, the last one if there is no token, or a new one.
func (p *prober) current() *result {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.last; r != nil {
		select {
		case <-r.done:
		default:
			return r
		}
	}
	if !p.tokens.take(time.Now()) {
		return p.last
	}
	r := &result{done: make(chan struct{})}
	p.last = r
	go func() {
		defer close(r.done)
		ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
		defer cancel()
		r.err = p.probe(ctx)
	}()
	return r
}
