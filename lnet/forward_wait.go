package lnet

import "ulnet/lnd"

// settle continues the messages whose wait has ended. It is entered with f.mu held and returns
// with it released. Only one goroutine at a time runs its loop. A message that fails at once
// ends inside the loop and calls settle again; if that call ran the loop too, a thousand
// waiting messages would make a stack of a thousand calls.
func (f *forwarder) settle() {
	if f.settling {
		f.mu.Unlock()
		return
	}
	f.settling = true
	for {
		ticket, granted := f.ledger.Next()
		if ticket == nil {
			break
		}
		t := ticket.Owner.(*transit)
		d, ni, why := t.d, t.ni, f.refusal(t.ni)
		t.d = nil
		if !granted {
			d.Owner = nil // changed under the lock, because abandon reads it
			f.release(t)
		}
		f.mu.Unlock()
		if granted {
			t.fill(d)
			ni.lower.Recv(d)
		} else {
			ni.Discard(d, why)
		}
		f.mu.Lock()
	}
	f.settling = false
	f.mu.Unlock()
}

// refusal returns the reason why a message that waited for a buffer gets none. The caller
// holds f.mu.
func (f *forwarder) refusal(ni *NI) DropReason {
	switch {
	case ni.stopping.Load():
		return NIShutdown
	case !f.on.Load():
		return RoutingStopped
	}
	return NextHopStalled
}

// abandon gives up a message whose connection has ended while it waited for a buffer. It
// returns false if the message does not wait any more; its transit may be in use for another
// message then.
func (f *forwarder) abandon(d *lnd.Delivery) bool {
	f.mu.Lock()
	t, ok := d.Owner.(*transit)
	if !ok || t.d != d || !f.ledger.Cancel(&t.ticket) {
		f.mu.Unlock()
		return false
	}
	f.release(t)
	f.settle()
	return true
}
