package portals

// The bounds of messages that have begun to arrive at an inbox and do not count as posted buffers.
const (
	maxArriving      = 256
	maxArrivingBytes = 64 << 20
)

// begun tells the inbox of the MD that the payload of a message for it is about to come. Unless the payload
// is there already (see intake), it comes as late as the peer likes, and until then the buffer waits for no
// other message.
func (o *operation) begun() {
	b, ok := o.event.UserPtr.(*inboxBuffer)
	if !ok {
		return
	}
	in := b.inbox
	in.mu.Lock()
	in.withdraw(b)
	b.arriving = true
	in.arriving++
	in.mu.Unlock()
	if !in.cfg.HandleFirst {
		in.Refill()
	}
}

// excess returns how many of the arriving messages count as posted buffers: with HandleFirst all, otherwise
// those above the bounds. Refill may be called before Open, when there is no Size. The caller holds in.mu.
func (in *Inbox) excess() int {
	if in.cfg.Size == 0 {
		return in.arriving
	}
	return max(in.arriving-in.cfg.uncounted(), 0)
}
