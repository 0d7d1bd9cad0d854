//go:build ibverbs && cgo && linux

package ibv

/*
#include "glue.h"
*/
import "C"

import (
	"maps"
	"slices"

	"ulnet/lnd/verbs"
)

// Close ends all objects of the device (verbs.Device).
func (d *device) Close() error {
	d.cm.Lock()
	if d.closed {
		d.cm.Unlock()
		return nil
	}
	d.closed = true
	listeners := slices.Collect(maps.Values(d.listeners))
	requests := slices.Collect(maps.Keys(d.requests))
	conns := slices.Collect(maps.Values(d.conns))
	d.cm.Unlock()
	for _, l := range listeners {
		_ = l.Close()
	}
	for _, r := range requests {
		_ = r.Reject(nil)
	}
	for _, c := range conns {
		c.abort()
	}
	for _, u := range values(d, d.uds) {
		u.Close()
	}
	d.pairs.Wait()
	for _, q := range values(d, d.cqs) {
		_ = q.Close()
	}
	d.queues.Wait()
	_ = d.arrived.Close()
	d.loop.Wait()
	for _, pd := range values(d, d.domains) {
		pd.abandon()
	}
	d.free()
	return nil
}

// values returns the elements of set, one of the device's sets that the table's lock guards.
func values[T comparable](d *device, set map[T]struct{}) []T {
	d.table.RLock()
	defer d.table.RUnlock()
	return slices.Collect(maps.Keys(set))
}

// use calls open and then adds v to set, one of the device's sets that the table's lock guards. If
// the device is closed, it does neither and returns ErrClosed.
func use[T comparable](d *device, set map[T]struct{}, v T, open func() error) error {
	d.cm.Lock()
	defer d.cm.Unlock()
	if d.closed {
		return verbs.ErrClosed
	}
	if err := open(); err != nil {
		return err
	}
	d.table.Lock()
	defer d.table.Unlock()
	set[v] = struct{}{}
	return nil
}

// drop removes v from set, one of the device's sets that the table's lock guards.
func drop[T comparable](d *device, set map[T]struct{}, v T) {
	d.table.Lock()
	defer d.table.Unlock()
	delete(set, v)
}

// abort ends a connection with an event in error, and frees it.
func (c *conn) abort() {
	kind := verbs.Disconnected
	if c.asking.Load() {
		kind = verbs.Unreachable
	}
	c.end(verbs.Event{Kind: kind, Status: verbs.Flushed})
	c.finish(false)
}
