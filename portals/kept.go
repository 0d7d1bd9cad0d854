package portals

// Kept is the buffer of a message that its handler keeps.
type Kept struct {
	inbox  *Inbox
	buffer *inboxBuffer
	turn   uint64
}

// Keep lets a handler use the message of its event after Handle has returned, without a copy,
// until [Kept.Release]. Handle calls Keep with the event that it was given.
func (in *Inbox) Keep(e *Event) Kept {
	b := e.UserPtr.(*inboxBuffer)
	in.mu.Lock()
	defer in.mu.Unlock()
	if !b.kept {
		b.kept = true
		in.kept++
	}
	return Kept{in, b, b.turn}
}

// Release gives the buffer back for other messages. Only the first call for one Keep has an
// effect. From then on the message must not be used, except by Handle until it returns.
func (k Kept) Release() {
	in, b := k.inbox, k.buffer
	in.mu.Lock()
	if !b.kept || b.turn != k.turn {
		in.mu.Unlock()
		return
	}
	b.kept = false
	b.turn++
	in.kept--
	if !b.handled {
		in.give(b)
	}
	in.mu.Unlock()
	in.Refill()
}
