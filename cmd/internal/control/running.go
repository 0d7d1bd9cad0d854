package control

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"ulnet/cmd/internal/deadline"
)

// running are the requests that are being answered.
type running struct {
	all sync.WaitGroup

	mu sync.Mutex
	of map[string]int // number of requests by the pattern of their route; guarded by mu
}

// begin counts a request until end is called.
func (r *running) begin(pattern string) (end func()) {
	r.all.Add(1)
	r.add(pattern, 1)
	return func() {
		r.add(pattern, -1)
		r.all.Done()
	}
}

func (r *running) add(pattern string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[string]int{}
	}
	if r.of[pattern] += n; r.of[pattern] == 0 {
		delete(r.of, pattern)
	}
}

// await waits until no request is being answered, or ctx ends. It returns the patterns of the requests
// that are still being answered, or "".
func (r *running) await(ctx context.Context) string {
	if deadline.Wait(ctx, r.all.Wait) == nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(r.of)), ", ")
}
