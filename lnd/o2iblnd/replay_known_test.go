package o2iblnd_test

import (
	"net/netip"
	"testing"
	"testing/synctest"

	"ulnet/lnd/o2iblnd/internal/replay"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
)

// The scripts of this file are made of recorded packets: they are what kernels were
// seen to say where no recording was kept (reference §8.3, §9).

// line makes one conversation of frames, at the beginning of the recorded connection:
// PSNs follow one another, and no credits are given back.
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

// known plays a script of known behaviour against our node; the messages of the host
// with these numbers have no taker.
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

// TestNoop: when the fourth credit is owed and nothing else is to be sent a NOOP gives
// four back. It does not come before: there are twelve seconds between frames 9 and
// 1057.
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

// TestNoTaker: a PUT_REQ that nobody wants is answered with a PUT_NAK of status 0, a
// GET_REQ with a GET_DONE of status -ENODATA.
func TestNoTaker(t *testing.T) {
	const enodata = 61
	whole := load(t, bulk)
	for _, tt := range []struct {
		name            string
		request, answer int // frames
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
