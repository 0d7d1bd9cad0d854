package replay_test

import (
	"net/netip"
	"testing"
	"testing/synctest"

	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/o2iblnd/internal/replay"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
)

// The scripts of this file are made of recorded packets. They repeat what kernels sent in
// conversations of which no recording was kept (o2iblnd-wire §8.3, §9).

// line returns a script of the given frames, as if they had been sent one after the other at the beginning
// of the recorded connection: their PSNs are consecutive, and they give no credits back.
func line(whole *replay.Script, frames ...int) *replay.Script {
	s := &replay.Script{Name: "frames of " + whole.Name}
	next := map[netip.Addr]ibta.PSN{}
	c := whole.Conns()[0]
	for side, addr := range c.Ends {
		next[addr] = c.PSN[side]
	}
	for _, frame := range frames {
		s = s.Then(whole.Cut(frame, frame).Edit(func(p *replay.Packet) {
			p.PSN, p.Msg.Credits = next[p.From.Addr()], 0
			next[p.From.Addr()] = p.PSN.Add(1)
		}))
	}
	return s
}

// known plays a script whose outcome is known against our node. The node's lnet drops the messages of the
// host whose numbers are in dropped.
func known(t *testing.T, whole, s *replay.Script, host netip.Addr, want []replay.Delivery, dropped ...int) {
	t.Helper()
	n := newNode(t, s, host, nil)
	n.up.want = want
	for _, i := range dropped {
		n.up.drop[i] = true
	}
	c := whole.Conns()[0]
	c.MSN = [2]uint32{}
	n.adopt(c, whole.Numbers(host).Stamp)
	n.play()
}

// TestNoop: when this node owes four credits and has nothing else to send, it gives them back by a NOOP. It
// sends none earlier, although twelve seconds pass between the third and the fourth message (frames 9 and
// 1057).
func TestNoop(t *testing.T) {
	whole := load(t, bulk)
	requests := line(whole, 1, 5, 9, 1057)
	noop := line(whole, 3).Edit(func(p *replay.Packet) {
		h := p.Msg.Header
		h.Type, h.Credits = kib.Noop, 4
		*p.Msg = kib.Msg{Header: h}
	})
	s := requests.Then(noop)
	synctest.Test(t, func(t *testing.T) { known(t, whole, s, kernel, requests.Deliveries(secondKernel)) })
}

// TestNoTaker: a PUT_REQ that lnet drops is answered with a PUT_NAK of status 0, a GET_REQ
// with a GET_DONE of status -ENODATA.
func TestNoTaker(t *testing.T) {
	const enodata = 61
	whole := load(t, bulk)
	for _, tt := range []struct {
		name            string
		request, answer int // frame numbers of the request and its answer
		change          func(m *kib.Msg)
	}{
		{"PUT_REQ", 1079, 1081, func(m *kib.Msg) { *m = kib.Msg{Header: m.Header, Cookie: m.Cookie}; m.Type = kib.PutNak }},
		{"GET_REQ", 11, 1052, func(m *kib.Msg) { m.Status = -enodata }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := line(whole, tt.request).Then(line(whole, tt.answer).Edit(func(p *replay.Packet) { tt.change(p.Msg) }))
			want := []replay.Delivery{{Header: s.Packets[0].Msg.LNet}}
			synctest.Test(t, func(t *testing.T) { known(t, whole, s, secondKernel, want, 0) })
		})
	}
}

// mirror turns a recorded CM message around: the result goes the other way, and belongs to the
// connection of frames 1 and 2 of the active ping.
func mirror(whole *replay.Script, frame int) *replay.Script {
	req, rep := whole.Packets[0].CM.REQ, whole.Packets[1].CM.REP
	return whole.Cut(frame, frame).Edit(func(p *replay.Packet) {
		from, to := p.From, p.To
		p.From, p.To = netip.AddrPortFrom(to.Addr(), from.Port()), netip.AddrPortFrom(from.Addr(), to.Port())
		switch p.CM.MAD.Attribute {
		case ibta.AttrDREQ:
			p.CM.DREQ.LocalID, p.CM.DREQ.RemoteID, p.CM.DREQ.RemoteQPN = rep.LocalID, req.LocalID, req.QPN
		case ibta.AttrDREP:
			p.CM.DREP.LocalID, p.CM.DREP.RemoteID = req.LocalID, rep.LocalID
		}
	})
}

// TestTooManyCredits: a peer that returns more credits than it was given is disconnected at
// once.
func TestTooManyCredits(t *testing.T) {
	const tooMany = 200
	whole := load(t, activePing)
	s := whole.Cut(1, 3).Then(whole.Cut(4, 4).Edit(func(p *replay.Packet) { p.Msg.Credits = tooMany }))
	s = s.Then(mirror(whole, 8)).Then(mirror(whole, 9))
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, s, improvised, nil)
		n.ops, n.up.want = nil, nil // the node starts no operation, and gets no message
		n.play()
		if c := n.ni.(*o2iblnd.NI).Snapshot().Counters; c.Of(o2iblnd.CreditsReturned) != 1 {
			t.Errorf("counted %d times", c.Of(o2iblnd.CreditsReturned))
		}
	})
}

// TestRestartedPeer: a REQ arrives with a new stamp while there is still a connection to the
// old incarnation of the peer. It is refused as stale, and the old connection is ended; the
// next REQ is accepted (o2iblnd-wire §7.4; whether REJ or DREQ comes first is our choice). The
// first connection comes from the recording activePing. The first REQ of the new incarnation is frame 2
// of the recording rejects, and the REQ after it is frame 14 of the same recording.
func TestRestartedPeer(t *testing.T) {
	whole, other := load(t, activePing), load(t, rejects)
	stamp := other.Packets[1].CM.Msg.SrcStamp // incarnation stamp after the restart
	again := other.Cut(2, 2).Edit(func(p *replay.Packet) { p.CM.Msg.Params.QueueDepth = 8 })
	stale := other.Cut(3, 3).Edit(func(p *replay.Packet) { p.CM.Reject.Why = kib.ConnStale })
	qpn := whole.Packets[1].CM.REP.QPN + 1
	good := other.Cut(14, 20).Edit(func(p *replay.Packet) {
		switch {
		case p.CM == nil:
			if p.DestQP == 0x15 { // the number of the kernel's queue pair in the recording named rejects
				p.DestQP = qpn
			}
		case p.CM.MAD.Attribute == ibta.AttrREQ:
			p.CM.Msg.SrcStamp = stamp
		case p.CM.MAD.Attribute == ibta.AttrREP:
			p.CM.REP.QPN, p.CM.Msg.DstStamp = qpn, stamp
		}
		if m := p.Msg; m != nil && p.From.Addr() == improvised {
			m.SrcStamp = stamp
		} else if m != nil {
			m.DstStamp = stamp
		}
	})
	s := whole.Cut(1, 7).Then(again).Then(mirror(whole, 8)).Then(stale).Then(mirror(whole, 9)).Then(good)
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, s, improvised, nil)
		for at, op := range n.ops {
			if op.Kind == replay.Disconnect {
				delete(n.ops, at) // the driver ends the connection by itself
			}
		}
		n.play()
	})
}
