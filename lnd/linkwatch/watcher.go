// Package linkwatch tells when the links of a node's NIs go down and come back: their
// interfaces lose the carrier, are brought down or removed, or lose the address that the
// NI uses. It also tells when the MTU of an interface changes. On Linux it listens to the
// kernel (rtnetlink), with one socket for all NIs of a node; on other systems every link is up.
//
// The kernel drops messages for which the socket has no room, and reports that; then, and at
// the start, the watcher asks for all links and addresses. Besides, it asks for the links in
// use ten times a second, because the kernel may wait for a second before it reports a lost
// carrier.
package linkwatch

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"sync"
	"time"
)

// Watcher watches links. Methods are safe for concurrent use.
type Watcher struct {
	changed func()
	source  source
	start   time.Time
	ready   chan struct{} // closed when the first round of dumps is complete, or when the watcher ends before
	cancel  context.CancelFunc
	done    sync.WaitGroup

	mu      sync.Mutex
	tracker *tracker // the state machine; guarded by mu
	failed  error    // why links are not watched, or not any more; guarded by mu
}

// source is the kernel, or its stand-in in tests.
type source interface {
	// receive waits for a message of the kernel until an instant. Its error is errLost if the
	// kernel has dropped messages, errLate if none came until that instant.
	receive(until time.Time) ([]byte, error)
	send(requests []byte) error
	close() error // closes the socket, which ends receive
}

var (
	errLost = errors.New("messages of the kernel were lost")
	errLate = errors.New("no message of the kernel in time")
)

// startWithin is how long Start waits for the first answers.
const startWithin = time.Second

// Start begins to watch. It returns when it knows the links, or after a second at the latest.
// The watcher calls changed in a goroutine of its own whenever the state of a link may have
// changed, or the MTU of an interface has; changed must not call Close. The error is that of the socket.
func Start(changed func()) (*Watcher, error) {
	s, err := listen()
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return &Watcher{failed: err}, nil
	case err != nil:
		return nil, err
	}
	return start(s, changed), nil
}

func start(s source, changed func()) *Watcher {
	w := &Watcher{changed: changed, source: s, start: time.Now(), ready: make(chan struct{}), tracker: newTracker()}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	w.done.Go(func() { w.run(ctx) })
	timer := time.NewTimer(startWithin)
	defer timer.Stop()
	select {
	case <-w.ready:
	case <-timer.C:
	}
	return w
}

// State returns a *[StateError] that says why nothing can be sent from an address of this
// machine. It returns nil if the link is up, if no interface has the address nor had it at
// an earlier call, as with most of 127.0.0.0/8, or if links are not watched here.
func (w *Watcher) State(a netip.Addr) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return nil
	}
	if err := w.tracker.state(a.Unmap().WithZone("")); err != nil {
		return err
	}
	return nil
}

// Keep forgets all addresses that are not in use any more.
func (w *Watcher) Keep(used func(netip.Addr) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tracker != nil {
		w.tracker.forget(used)
	}
}

// Stats returns the counters.
func (w *Watcher) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tracker == nil {
		return Stats{}
	}
	return w.tracker.stats
}

// Err returns the error because of which links are not watched, or are no longer watched; nil while they
// are.
func (w *Watcher) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// Close ends the watcher. After Close has returned, changed is not called any more. Further calls
// do nothing.
func (w *Watcher) Close() error {
	if w.cancel == nil {
		return nil
	}
	w.cancel()
	err := w.source.close()
	w.done.Wait()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// run steps the tracker on the messages of the kernel, and when its timer is due.
func (w *Watcher) run(ctx context.Context) {
	ready := sync.OnceFunc(func() { close(w.ready) })
	defer ready()
	var requests []byte
	for {
		var wake time.Duration
		w.mu.Lock()
		requests, wake = w.tracker.requests(time.Since(w.start), requests[:0])
		w.mu.Unlock()
		if len(requests) > 0 && w.source.send(requests) != nil {
			w.lose() // sending failed: the kernel has no memory for the request
		}
		b, err := w.source.receive(w.start.Add(wake))
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errLate):
			continue
		case errors.Is(err, errLost):
			w.lose()
			continue
		case err != nil:
			ready() // ends Start before fail calls changed, which may wait for a lock that the caller of Start holds
			w.fail(err)
			return
		}
		w.mu.Lock()
		changed, known := w.tracker.receive(b), w.tracker.ready()
		w.mu.Unlock()
		if !known {
			continue
		}
		ready()
		if changed {
			w.changed()
		}
	}
}

func (w *Watcher) lose() {
	w.mu.Lock()
	w.tracker.lose()
	w.mu.Unlock()
}

// fail ends the watch: all links count as up, as on a system where none is watched.
func (w *Watcher) fail(err error) {
	w.mu.Lock()
	w.failed = err
	w.mu.Unlock()
	w.changed()
}
