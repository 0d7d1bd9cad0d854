package lnet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
)

// RemoveNI stops an NI: new messages no longer use it, queued messages can leave until ctx
// ends, and messages that arrived and are on hold are dropped. The error says how many queued
// messages could not leave. RemoveNI must not be called from a handler.
//
// If the NI is being removed or was removed already, RemoveNI waits until that removal has
// ended, and returns its result; or an error if ctx ends first.
func (n *Node) RemoveNI(ctx context.Context, ni *NI) error {
	if !n.unregister(ni) {
		select {
		case <-ni.gone:
			return ni.removal
		case <-ctx.Done():
			return fmt.Errorf("NI %v: is still being removed: %w", ni.nid, context.Cause(ctx))
		}
	}
	defer close(ni.gone)
	ni.removal = n.remove(ctx, ni)
	return ni.removal
}

// remove ends an NI that is not registered any more.
func (n *Node) remove(ctx context.Context, ni *NI) error {
	ni.stopping.Store(true)
	n.niChanged()
	n.upper.Detach(ni)
	n.forward.detach(ni)
	lost := ni.drain(ctx)
	err := ni.lower.Shutdown(ctx)
	if lost > 0 {
		err = fmt.Errorf("NI %v: %d messages were not sent: %w", ni.nid, lost, context.Cause(ctx))
	}
	for _, p := range n.peers.removeNI(ni) {
		p.failQueued(syscall.ESHUTDOWN)
	}
	n.mu.Lock()
	n.leaving = slices.DeleteFunc(n.leaving, func(o *NI) bool { return o == ni })
	n.retired.add(ni.traffic.snapshot())
	n.mu.Unlock()
	return err
}

// unregister takes ni off the list and reports whether it was there.
func (n *Node) unregister(ni *NI) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := *n.nis.Load()
	i := slices.Index(list, ni)
	if i < 0 {
		return false
	}
	next := slices.Delete(slices.Clone(list), i, i+1)
	n.nis.Store(&next)
	n.look()
	n.leaving = append(n.leaving, ni)
	return true
}

// Shutdown removes every NI, the last one first. The node gets no others
// afterwards.
func (n *Node) Shutdown(ctx context.Context) error {
	n.mu.Lock()
	n.down = true
	n.mu.Unlock()
	n.stopResending()
	var errs []error
	list := n.NIs()
	for _, ni := range slices.Backward(list) {
		errs = append(errs, n.RemoveNI(ctx, ni))
	}
	n.stopAgeing()
	n.forward.stop()
	return errors.Join(errs...)
}
