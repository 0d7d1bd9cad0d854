package replay

import (
	"bytes"
	"slices"

	"ulnet/lnd/capture"
	selftest "ulnet/lnet/selftest/wire"
	"ulnet/lnet/wire"
)

// isRPC reports whether a record is a message to one of the portals of lnet_selftest.
func isRPC(r *capture.Record) bool {
	portal, is := r.Portal()
	return is && portal >= selftest.TestPortal && portal <= selftest.BulkPortal
}

// asksCounters reports whether a record is a STAT request.
func asksCounters(r *capture.Record) bool {
	return asksFramework(r) && r.Header.Put().MatchBits == uint64(selftest.StatService)
}

// asksFramework reports whether a record is a request to the framework of a test node.
func asksFramework(r *capture.Record) bool {
	return isRPC(r) && r.Header.Type == wire.Put && r.Header.Put().Portal == selftest.FrameworkPortal
}

// adaptRPC changes a recorded message of lnet_selftest into the one that this node must send; see
// package recording for what may differ.
func (d *Differences) adaptRPC(want, node *capture.Record) (err error) {
	switch {
	case want.Kind != capture.Message:
	case want.Header.Type == wire.Reply:
		if bits, is := d.bulk[want.Header.Reply().DstMD]; is {
			want.Payload = d.RPCs.AdaptData(bits, 0, want.Payload, node.Payload)
		}
	case !isRPC(want) || want.Header.Type != wire.Put:
	case len(want.Payload) == selftest.MessageSize:
		want.Payload, err = d.RPCs.Adapt(want.Payload, node.Payload)
	default:
		want.Payload = d.RPCs.AdaptData(want.Header.Put().MatchBits, 0, want.Payload, node.Payload)
	}
	return err
}

// noteRPC records which numbers the node uses in place of the recorded ones. If the message is a request
// to a framework, noteRPC also records that the request is not answered yet.
func (d *Differences) noteRPC(recorded, node *capture.Record) {
	if isRPC(recorded) && recorded.Header.Type == wire.Put {
		d.RPCs.Note(recorded.Payload, node.Payload)
	}
	if asksFramework(recorded) {
		if d.unanswered == nil {
			d.unanswered = map[uint64]bool{}
		}
		d.unanswered[d.rpc(recorded)] = true
	}
}

// substituteRPC changes a recorded message of lnet_selftest into the one that the player sends to the node:
// it puts in the match bits and sessions that the node uses in this run.
func (d *Differences) substituteRPC(s *capture.Record) {
	if s.Kind != capture.Message || !isRPC(s) {
		return
	}
	if s.Header.Type == wire.Get {
		g := s.Header.Get()
		if d.bulk == nil {
			d.bulk = map[wire.MDHandle]uint64{}
		}
		d.bulk[g.ReturnMD] = g.MatchBits
		g.MatchBits = d.RPCs.Own(g.MatchBits)
		s.Header.SetGet(g)
		return
	}
	p := s.Header.Put()
	if p.Portal == selftest.BulkPortal {
		delete(d.unanswered, p.MatchBits)
		p.MatchBits = d.RPCs.Own(p.MatchBits)
		s.Header.SetPut(p)
	}
	s.Payload = d.RPCs.Substitute(s.Payload)
}

// swappedRPC looks for a later event, on the same connection, that is the message of
// lnet_selftest that the node has sent. Threads of a kernel, and goroutines, run RPCs beside each
// other, so that messages of different RPCs may leave in another order. Those of one RPC may not: a
// server replies after the bulk data (selftest §2).
func (p *Player) swappedRPC(i int, got *capture.Record) (other int, ok bool) {
	want := p.events[i]
	if !isRPC(got) || p.same(want.Record, got) {
		return 0, false
	}
	var passed []uint64 // RPCs of the recorded messages that the message in got overtakes
	for other := i; other < len(p.events); other++ {
		e := p.events[other]
		if e.Conn != want.Conn || e.From != want.From || e.Record == nil || p.early[other] || !isRPC(e.Record) {
			continue
		}
		of := p.rpc(e.Record)
		if p.same(e.Record, got) {
			return other, !slices.Contains(passed, of)
		}
		passed = append(passed, of)
	}
	return 0, false
}

// rpc returns the RPC that a recorded message of lnet_selftest belongs to: the match bits of its
// reply.
func (d *Differences) rpc(r *capture.Record) uint64 {
	if r.Header.Type == wire.Get {
		return d.RPCs.RPC(r.Header.Get().MatchBits)
	}
	if p := r.Header.Put(); p.Portal == selftest.BulkPortal {
		return d.RPCs.RPC(p.MatchBits)
	}
	m, _ := selftest.ParseMessage(r.Payload) // ReplyID is 0 if the message is not a request
	return m.ReplyID
}

// same reports whether a message that the node has sent is the given recorded message of lnet_selftest.
func (p *Player) same(recorded, got *capture.Record) bool {
	want := recorded.Clone()
	if want.Kind != got.Kind || want.Header.Type != got.Header.Type || p.adaptRPC(want, got) != nil || !bytes.Equal(want.Payload, got.Payload) {
		return false
	}
	if got.Header.Type == wire.Get {
		return want.Header.Get().MatchBits == got.Header.Get().MatchBits
	}
	return got.Header.Type == wire.Put && want.Header.Put().MatchBits == got.Header.Put().MatchBits
}
