package discovery_test

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// signalling is a context that calls f when its Done is called, which Discover does after it has requested the discovery.
type signalling struct {
	context.Context
	f func()
}

func (s signalling) Done() <-chan struct{} {
	s.f()
	return s.Context.Done()
}

// TestDiscoverDuringEnd: an earlier discovery of B ends without an answer. While its end is being reported, a call of
// Discover for B comes. The call gets the result of its own discovery, not that of the earlier one. Checks of
// gateways make such calls.
func TestDiscoverDuringEnd(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RT-7")
	w, clock := newCable(t), new(handClock)
	w.clock = clock
	a := w.node(discovery.Config{}, nidA)
	w.node(discovery.Config{}, nidB)
	b := nid.MustParse(nidB)
	port := w.ports[b]
	delete(w.ports, b)
	result := make(chan error, 1)
	requested := make(chan struct{})
	md, err := a.table.MDBind(portals.MD{
		Segments: []lnd.Segment{make([]byte, 1)}, Threshold: 1,
		Handler: func(e *portals.Event) {
			if e.Kind != portals.EventSend {
				return
			}
			if !errors.Is(e.Err, syscall.ETIMEDOUT) {
				t.Errorf("the message ended with %v", e.Err)
			}
			go func() {
				_, err := a.agent.Discover(signalling{context.Background(), sync.OnceFunc(func() { close(requested) })}, b, true)
				result <- err
			}()
			<-requested
		},
	}, portals.Unlink)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.table.Put(portals.PutRequest{MD: md, Target: nid.ProcessID{NID: b}, Portal: 5}); err != nil {
		t.Fatal(err)
	}
	for wait := time.Duration(0); wait < 400*time.Second; wait += 100 * time.Millisecond {
		clock.advance(w, 100*time.Millisecond)
		select {
		case <-requested:
			w.ports[b] = port
			clock.advance(w, 10*time.Second)
			if err := <-result; err != nil {
				t.Errorf("Discover returned %v", err)
			}
			return
		default:
		}
	}
	t.Error("the message did not end")
}
