package fault

import (
	"context"
	"slices"

	"ulnet/lnd"
)

// Close prepares an NI of a wrapped driver for its end, so that lnet need not wait for kept
// messages. These fail with ESHUTDOWN, and so do messages that would have to be kept from now
// on. [Plan.Stop] does the same to all NIs. Other NIs are not affected. Close must not be
// called from a handler.
func Close(ni lnd.NI) {
	if f, ok := ni.(*netIf); ok {
		f.close()
	}
}

// Shutdown implements lnd.NI. Kept messages are not sent any more, so that a node can end
// while it is paused. lnet must have given up the deliveries that it holds.
func (ni *netIf) Shutdown(ctx context.Context) error {
	ni.close()
	err := ni.lower.Shutdown(ctx)
	p := ni.plan
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nis = slices.DeleteFunc(p.nis, func(o *netIf) bool { return o == ni })
	p.settle()
	return err
}

// close fails the kept messages, and keeps no further ones.
func (ni *netIf) close() {
	p := ni.plan
	p.mu.Lock()
	ni.closed = true
	left := ni.takeKept()
	for ni.draining || ni.finalizing {
		p.quiet.Wait()
	}
	p.mu.Unlock()
	for i := range left {
		left[i].fail()
	}
}

// ending reports whether the NI or the node ends, so that no further message is kept. The caller
// holds plan.mu.
func (ni *netIf) ending() bool { return ni.closed || ni.plan.stopped }

// outcome is a message that is not sent, and the error with which it ends.
type outcome struct {
	m   *lnd.Message
	err error
}

// end finalizes a message that is not sent. One goroutine at a time does so: a
// handler that sends another message, which is lost too, must not recurse. It is
// entered with plan.mu held and returns with it released.
func (ni *netIf) end(m *lnd.Message, err error) {
	p := ni.plan
	defer p.mu.Unlock()
	ni.ends = append(ni.ends, outcome{m, err})
	if ni.finalizing {
		return
	}
	ni.finalizing = true
	for len(ni.ends) > 0 {
		list := ni.ends
		ni.ends = nil
		p.mu.Unlock()
		for _, o := range list {
			ni.up.Finalize(o.m, o.err)
		}
		p.mu.Lock()
	}
	ni.finalizing = false
	p.quiet.Broadcast()
}
