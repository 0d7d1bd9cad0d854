package lnet_test

import (
	"errors"
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Bounds of the answers that wait for peers that read nothing, beside the 8 that the driver has for each.
const (
	mostAnswers     = 1 << 18
	mostPeerAnswers = 1 << 16
	ownAnswers      = 256 // each peer may have so many in any case
)

// answering makes the layer above lnet answer each GET with a REPLY, and each PUT with an ACK.
func (r *rig) answering() {
	r.up.arrive = func(ni *lnet.NI, d *lnd.Delivery) (lnd.Answer, lnet.DropReason) {
		m := answer(ni, d.From, d.Header.SrcNID)
		if d.Header.Type == wire.Get {
			m.Header.SetReply(wire.ReplyCmd{DstMD: wire.MDHandle{Interface: 1, Object: 2}})
		}
		d.Owner = m
		return lnd.Accept, lnet.NotDropped
	}
}

// asks makes n requests of a process arrive on one connection, and sends the answers to those that are not dropped.
// It returns how many are dropped.
func (r *rig) asks(from nid.NID, n int, change func(h *wire.Header)) (dropped int) {
	r.t.Helper()
	return r.asksBy(from, from, n, change)
}

// asksBy does what asks does for requests that a router passes on: by is the NID at the other end of the connection,
// source is the NID of the node that has sent the requests.
func (r *rig) asksBy(by, source nid.NID, n int, change func(h *wire.Header)) (dropped int) {
	r.t.Helper()
	d := arriving(change)
	d.From.NID, d.Header.SrcNID = by, source
	for range n {
		if _, err := r.ni.Parse(d); err != nil {
			r.t.Fatal(err)
		}
		if d.Dropped {
			dropped++
			continue
		}
		m := d.Owner.(*lnet.Message)
		r.ni.Delivered(d, nil)
		r.node.Send(m)
	}
	return dropped
}

func aGet(h *wire.Header) {
	h.SetGet(wire.GetCmd{ReturnMD: wire.MDHandle{Interface: 1, Object: 2}})
	h.PayloadLength = 0
}

func aPutWithAck(h *wire.Header) {
	h.SetPut(wire.PutCmd{AckMD: wire.MDHandle{Interface: 1, Object: 2}})
}

// TestDeafPeer (LN-24): a peer sends requests and reads none of the answers. When 65536 of them wait, beside the 8
// that the driver has, its further requests are dropped, and counted. Other messages of that peer are not dropped,
// nor requests of others, and the peer is answered again when it has read an answer.
func TestDeafPeer(t *testing.T) {
	spec.Covers(t, "LN-24")
	effort.OneGoroutine(t)
	for name, request := range map[string]func(h *wire.Header){"GET": aGet, "PUT with ACK": aPutWithAck} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, lnd.Tunables{}, lnet.Config{})
			r.answering()
			const sent = 100_000
			if n := r.asks(peerA, 8+mostPeerAnswers, request); n != 0 {
				t.Fatalf("%d requests dropped below the bound", n)
			}
			if n := r.asks(peerA, sent-8-mostPeerAnswers, request); n != sent-8-mostPeerAnswers {
				t.Errorf("%d requests dropped above the bound, want all %d", n, sent-8-mostPeerAnswers)
			}
			if n := r.peer(peerA).Queued; n != mostPeerAnswers {
				t.Errorf("%d answers wait, want %d", n, mostPeerAnswers)
			}
			if n := r.node.Stats().DropReasons[lnet.AnswersUnread.String()]; n != sent-8-mostPeerAnswers {
				t.Errorf("%d drops counted as %v, want %d", n, lnet.AnswersUnread, sent-8-mostPeerAnswers)
			}
			r.up.arrive = nil
			d := arriving(nil)
			if _, err := r.ni.Parse(d); err != nil || d.Dropped {
				t.Errorf("a PUT without ACK was dropped: %v", err)
			}
			r.answering()
			if n := r.asks(peerB, 100, request); n != 0 {
				t.Errorf("%d requests of another peer were dropped", n)
			}
			r.finalizeOf(peerA, nil)
			if n := r.asks(peerA, 2, request); n != 1 {
				t.Errorf("%d of 2 requests dropped after one answer has left, want 1", n)
			}
			for r.finalize(nil) {
			}
			if n := r.asks(peerA, 8+mostPeerAnswers, request); n != 0 {
				t.Errorf("%d requests dropped after all answers have left", n)
			}
			for r.finalize(nil) {
			}
		})
	}
}

// TestDeafCrowd (LN-24): many peers read none of their answers. All together have a bounded number of answers that
// wait, and 256 may wait for a peer that comes later.
func TestDeafCrowd(t *testing.T) {
	spec.Covers(t, "LN-24")
	effort.OneGoroutine(t)
	r := newRig(t, lnd.Tunables{Credits: 1024}, lnet.Config{})
	r.answering()
	const peers = 30
	for i := range peers {
		r.asks(numbered(i), 70_000, aGet)
	}
	waiting := 0
	for i := range peers {
		waiting += r.peer(numbered(i)).Queued
	}
	if waiting > mostAnswers+peers*ownAnswers || waiting < mostAnswers/2 {
		t.Errorf("%d answers wait, want at most %d and %d for each peer", waiting, mostAnswers, ownAnswers)
	}
	refused := r.node.Stats().SendRefused
	dropped := r.asks(peerA, 8+ownAnswers, aGet)
	if refused = r.node.Stats().SendRefused - refused; dropped != 0 || refused != 0 {
		t.Errorf("a peer that comes later: %d requests were dropped, and %d answers refused", dropped, refused)
	}
	for r.finalize(nil) {
	}
}

// TestAnswersByDetour (LN-24): answers wait for another peer than the one that brought the requests, as answers to
// nodes behind routers may. Beyond the bound they fail.
func TestAnswersByDetour(t *testing.T) {
	spec.Covers(t, "LN-24")
	effort.OneGoroutine(t)
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	failed := 0
	r.up.onSent = func(_ *lnet.Message, err error) {
		if errors.Is(err, syscall.ENOBUFS) {
			failed++
		}
	}
	for range 8 + mostPeerAnswers + 3 {
		r.node.Send(answer(r.ni, nid.ProcessID{NID: peerB, PID: nid.LustrePID}, peerB))
	}
	if s := r.node.Stats(); failed != 3 || s.SendRefused != 3 {
		t.Errorf("%d answers failed and %d were counted, want 3", failed, s.SendRefused)
	}
	r.node.Send(put(peerB, 1))
	if n := r.peer(peerB).Queued; n != mostPeerAnswers+1 {
		t.Errorf("%d messages wait, want %d answers and the request of this node", n, mostPeerAnswers)
	}
	for r.finalize(nil) {
	}
}

// TestRequestsLeaveRoomForAnswers (LN-24): however many requests of this node wait for a peer, the peer is answered.
func TestRequestsLeaveRoomForAnswers(t *testing.T) {
	spec.Covers(t, "LN-24")
	effort.OneGoroutine(t)
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	r.answering()
	for bits := range uint64(mostPeerAnswers + 100) {
		r.send(peerA, bits)
	}
	if n := r.asks(peerA, 100, aGet); n != 0 {
		t.Errorf("%d requests dropped", n)
	}
	for r.finalize(nil) {
	}
}

// TestDeafBehindRouter (LN-24): answers to routed requests count for the router. A node behind the router has as many
// answers that it does not read as may wait for one peer. Then requests of another node behind the router are
// dropped, too, but not those of this node's other neighbours.
func TestDeafBehindRouter(t *testing.T) {
	spec.Covers(t, "LN-24")
	effort.OneGoroutine(t)
	r := newRouted(t)
	r.routes(peerA, routing)
	r.answering()
	if n := r.asksBy(peerA, peer1, 8+mostPeerAnswers, aGet); n != 0 {
		t.Fatalf("%d requests dropped below the bound", n)
	}
	other := nid.MustParse("10.1.0.77@tcp1")
	if n := r.asksBy(peerA, other, 10, aGet); n != 10 {
		t.Errorf("%d of 10 requests of another node behind the router are dropped", n)
	}
	if n := r.asks(peerB, 10, aGet); n != 0 {
		t.Errorf("%d requests of a neighbour are dropped", n)
	}
	for r.finalize(nil) {
	}
}
