// Package worker starts processes that take part in a measurement, and gives them orders.
// A worker is this program or another one that calls [Child]. Parent and worker exchange
// JSON over the standard input and output of the worker:
//
//	parent  the parameters of the kind, then requests {"do": NAME, "with": ARGUMENT}
//	worker  {"value": V} or {"error": TEXT} in answer to the parameters, when it is ready, and
//	        to each request, in their order; and {"event": E} at any time
//
// A worker ends at the end of its standard input, and so does not outlive its parent.
package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// request is a message of the parent.
type request struct {
	Do   string          `json:"do"`
	With json.RawMessage `json:"with,omitempty"`
}

// frame is a message of the worker. Exactly one of its fields is set.
type frame struct {
	Value json.RawMessage `json:"value,omitempty"`
	Error string          `json:"error,omitempty"`
	Event json.RawMessage `json:"event,omitempty"`
}

// Kind is a kind of worker that a process can be.
type Kind struct {
	name  string
	start func(w *Worker, params json.RawMessage) (ready any, err error)
}

// Of returns a kind of worker. The function start makes the worker ready, and returns the value
// that the parent gets then.
func Of[P, R any](name string, start func(w *Worker, params P) (R, error)) Kind {
	return Kind{name, func(w *Worker, raw json.RawMessage) (any, error) { return call(start, w, raw) }}
}

func call[P, R any](f func(*Worker, P) (R, error), w *Worker, raw json.RawMessage) (any, error) {
	var p P
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, err
		}
	}
	return f(w, p)
}

// Worker is a handle by which a process that runs as a worker uses its connection to the parent.
type Worker struct {
	ctx    context.Context // canceled when the worker is stopped
	orders map[string]func(raw json.RawMessage) (any, error)
	ends   []func()

	mu  sync.Mutex
	out *json.Encoder // writer of frames to the parent; guarded by mu
}

// Context returns a context that is canceled when the worker is stopped.
func (w *Worker) Context() context.Context { return w.ctx }

// Defer calls f when the worker is stopped. The last function is called first.
func (w *Worker) Defer(f func()) { w.ends = append(w.ends, f) }

// Order registers the handler of an order. Requests are handled sequentially.
func Order[A, R any](w *Worker, name string, do func(with A) (R, error)) {
	w.orders[name] = func(raw json.RawMessage) (any, error) {
		return call(func(_ *Worker, a A) (R, error) { return do(a) }, w, raw)
	}
}

// Tell sends an event to the parent. It may be called from any goroutine.
func (w *Worker) Tell(event any) {
	if raw, err := json.Marshal(event); err == nil {
		_ = w.say(frame{Event: raw}) // it fails if the parent has ended, in which case this process ends too
	}
}

func (w *Worker) say(f frame) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Encode(f)
}

// answer sends the result of a request.
func (w *Worker) answer(value any, failed error) error {
	raw, err := json.Marshal(value)
	if err = errors.Join(failed, err); err != nil {
		return w.say(frame{Error: err.Error()})
	}
	return w.say(frame{Value: raw})
}

// Child is called by main. If the arguments ask for a worker of one of these kinds, it runs this
// process as that worker, and returns the exit status.
func Child(args []string, kinds ...Kind) (code int, asked bool) {
	if len(args) != 2 || args[0] != "worker" {
		return 0, false
	}
	for _, k := range kinds {
		if k.name == args[1] {
			if err := k.serve(os.Stdin, os.Stdout); err != nil {
				fmt.Fprintf(os.Stderr, "worker %s: %v\n", k.name, err)
				return 1, true
			}
			return 0, true
		}
	}
	fmt.Fprintf(os.Stderr, "no worker is a %q\n", args[1])
	return 2, true
}

// serve starts the worker and handles requests until the end of the standard input.
func (k Kind) serve(stdin io.Reader, stdout io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	w := &Worker{ctx: ctx, orders: make(map[string]func(json.RawMessage) (any, error)), out: json.NewEncoder(stdout)}
	defer func() {
		cancel()
		for i := len(w.ends); i > 0; i-- {
			w.ends[i-1]()
		}
	}()
	in := json.NewDecoder(stdin)
	var params json.RawMessage
	if err := in.Decode(&params); err != nil {
		return err
	}
	ready, failed := k.start(w, params)
	if err := errors.Join(w.answer(ready, failed), failed); err != nil {
		return err
	}
	for {
		var r request
		if err := in.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		do := w.orders[r.Do]
		if do == nil {
			do = func(json.RawMessage) (any, error) {
				return nil, fmt.Errorf("what is %q?", r.Do)
			}
		}
		if err := w.answer(do(r.With)); err != nil {
			return err
		}
	}
}
