package replay

import (
	"ulnet/lnd/capture"
	"ulnet/lnet/wire"
)

// Two things may come in another order than in the recording, because they
// are the work of different threads in a kernel: messages of discovery
// (swapped), and the ends of a connection that both sides end (mayEndFirst,
// endsNext).

// swapped looks for a later event on the connection that a record of the node
// is rather than event i. Only messages of discovery may change places: a push
// and the ACK of one are the work of different threads of a kernel, and so are
// they and what users send.
func (p *Player) swapped(i int, got *capture.Record) (other int, ok bool) {
	want := p.Script.Events[i]
	if isLike(want.Record, got) || !isDiscovery(got) && !isDiscovery(want.Record) {
		return 0, false
	}
	for other := i + 1; other < len(p.Script.Events); other++ {
		e := p.Script.Events[other]
		if e.Conn == want.Conn && e.From == want.From && e.Record != nil && !p.early[other] && isLike(e.Record, got) {
			return other, true
		}
	}
	return 0, false
}

// isLike reports whether two records are the same kind of message for the same
// purpose.
func isLike(a, b *capture.Record) bool {
	aPortal, _ := a.Portal()
	bPortal, _ := b.Portal()
	return a.Kind == b.Kind && a.Header.Type == b.Header.Type && aPortal == bPortal
}

// isDiscovery reports whether a record is a push, or the ACK of one.
func isDiscovery(r *capture.Record) bool {
	if r.Kind != capture.Message {
		return false
	}
	portal, is := r.Portal()
	push := is && r.Header.Type == wire.Put && portal == wire.PingPortal
	return push || r.Header.Type == wire.Ack && r.Header.Ack().MatchBits == wire.PingMatchBits
}

// endsNext reports whether event i is data or a close of the player, and the
// next thing that the node does on the connection is to end it: then it may do
// so before it has got everything.
func (p *Player) endsNext(i int) bool {
	e := p.Script.Events[i]
	if e.Kind == Open || e.From != p.side(e.Conn) {
		return false
	}
	for _, next := range p.Script.Events[i+1:] {
		if next.Conn == e.Conn && next.From != e.From {
			return next.Kind == Closed
		}
	}
	return false
}

// mayEndFirst reports whether the node may end a connection before event i,
// with which the player ends it: both do, and for the same reason, which is
// the end of another connection between them, or a refusal of this one.
func (p *Player) mayEndFirst(i int) bool {
	if !p.endsNext(i) {
		return false
	}
	conn := p.Script.Events[i].Conn
	for _, e := range p.Script.Events[:i] {
		if e.Kind == Closed && e.Conn != conn || e.Kind == Data && e.Conn == conn && IsRefusal(e.Data) {
			return true
		}
	}
	return false
}
