package rival

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Calls is one run of callers: goroutines of one process that each send a request and wait for its
// answer, one request after another.
type Calls struct {
	Callers int // number of goroutines
	Count   int // number of requests of all callers together
}

// Run runs the callers and returns how long they took. call sends one request of a caller and
// waits for its answer. After the first error the callers send no further request.
func (c Calls) Run(call func(caller int) error) (time.Duration, error) {
	var all sync.WaitGroup
	var failed atomic.Bool
	errs := make([]error, c.Callers)
	began := time.Now()
	for i := range c.Callers {
		all.Go(func() {
			for range c.Count*(i+1)/c.Callers - c.Count*i/c.Callers {
				if errs[i] = call(i); errs[i] != nil {
					failed.Store(true)
				}
				if failed.Load() {
					return
				}
			}
		})
	}
	all.Wait()
	return time.Since(began), errors.Join(errs...)
}

// CPU is the command "cpu" to a worker, which returns the CPU time of the worker so far.
func CPU(struct{}) (time.Duration, error) { return cpuTime(), nil }
