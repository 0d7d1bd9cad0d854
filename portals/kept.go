package portals

// Kept is the buffer of a message that its handler keeps.
type Kept struct {
	inbox  *Inbox
	buffer *inboxBuffer
	turn   uint64
}

// Keep leaves the message of an event to its handler beyond the handler's return, without
// a copy, until [Kept.Release]. Handle calls it, with the event that it was given.
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

// Release gives the buffer back for other messages. Of calls for one Keep the first counts.
// Nobody may touch the message from then on, but a handler of it that runs until it returns.
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
