package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

const (
	probeTimeout = 3 * time.Second // how long a request of /healthz or /readyz waits for the node
	// scrapeLimit is how long a scrape waits. Package web ends an answer after 10 s, and Prometheus waits
	// as long by default: the rest of that time is for sending the 503.
	scrapeLimit = 8 * time.Second
)

var errStuck = errors.New("the node does not answer: SIGABRT makes lnetd write where its goroutines wait, and end")

// healthz answers whether the node works, and 503 if it does not, so that a service manager
// restarts a daemon that is stuck. probe returns nil if the node works, and may never return. If
// the node is stuck, one goroutine waits for it, not one for each request, see kept.
func healthz(probe func(context.Context) error) http.Handler {
	results := kept[error]{limit: probeTimeout, make: func() error {
		ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
		defer cancel()
		return probe(ctx)
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		err, ok := results.get()
		if !ok {
			err = errStuck
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
}
