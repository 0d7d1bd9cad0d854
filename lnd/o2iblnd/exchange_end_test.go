package o2iblnd

import (
	"net/netip"
	"testing"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// TestAnsweredUnacknowledged: the peer has answered a message whose SEND the device then reports as
// failed: only the acknowledgement was lost, so the message ends without an error. Data that the peer
// has written for it is delivered.
func TestAnsweredUnacknowledged(t *testing.T) {
	for _, tt := range []struct {
		name   string
		typ    wire.MsgType
		sender int // the end whose SENDs are not acknowledged
		takes  int // how much of a PUT the target takes
	}{
		{"PUT_ACK", wire.Put, 1, 5000},
		{"GET_REQ", wire.Get, 0, 5000},
		{"PUT_REQ, refused", wire.Put, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPair(t)
			a, b, e := p.ends[0], p.ends[1], p.ends[tt.sender]
			b.want = tt.takes
			m := a.send(tt.typ, 5000, 1, 1, false)
			for a.deliver() || b.deliver() || b.answer(5000, 0) || e.other.complete() {
			}
			if len(e.completes) != 1 {
				t.Fatalf("%d not completed", len(e.completes))
			}
			err := newError(TransportFailed, lustre(e.x.cfg.peer), nil)
			e.step(exchangeIn{kind: exchangeClose, err: err})
			e.step(exchangeIn{kind: exchangeSent, id: e.completes[0], err: err})
			if cause, ended := a.sent[m]; !ended || cause != nil {
				t.Errorf("ended %v with %v", ended, cause)
			}
			switch {
			case tt.typ == wire.Get:
				a.wantData(5000)
			case tt.takes > 0:
				b.wantData(5000)
			}
		})
	}
}

// TestReplyBeforeFlush: a GET_DONE has arrived when the connection ends and its GET_REQ, which the peer
// has not acknowledged, is flushed. lnet gets the REPLY.
func TestReplyBeforeFlush(t *testing.T) {
	up, at := new(sink), loopbackAddrs(2)
	ni := start(t, at[0], softroce.Open, Config{}, up)
	defer shut(ni)
	ni.pool = new(countingPool)
	a := &asked{from: netip.AddrPortFrom(at[1], 1023)}
	ni.request(a, a.request(ni))
	a.events(a, verbs.Event{Kind: verbs.Established})
	ni.Send(newGet(ni, nid.FromAddr(ni.nid.Net(), at[1]), make([]byte, 5000)))
	c := ni.conns.all()[0]
	cfg := c.x.cfg
	m := kib.Msg{Cookie: c.x.cookie - 1, Header: kib.Header{
		Version: cfg.version, Type: kib.GetDone, SrcNID: cfg.peer, SrcStamp: cfg.peerStamp, DstNID: cfg.local, DstStamp: cfg.stamp,
	}}
	b, err := m.AppendBinary(nil)
	if err != nil || len(a.posted) != 1 {
		t.Fatalf("posted %v, %v", a.posted, err)
	}
	ni.completed([]verbs.Completion{{ID: uint64(c.id) << 32, Op: verbs.Receive, Buffer: verbs.Buffer{Bytes: b}}})
	ni.completed([]verbs.Completion{{ID: a.posted[0], Op: verbs.Send, Status: verbs.Flushed}})
	a.events(a, verbs.Event{Kind: verbs.Disconnected})
	if up.arrived != 1 || up.finished != 1 || len(up.errs) > 0 || ni.conns.len() != 0 || a.closed != 1 {
		t.Errorf("%d arrived, %d finalized, %v; %d connections, closed %d times", up.arrived, up.finished, up.errs, ni.conns.len(), a.closed)
	}
}

// TestUnanswered: the error of a SEND ends a message that the peer has not answered, even if
// everything else that was posted before has succeeded.
func TestUnanswered(t *testing.T) {
	for name, n := range map[string]int{"IMMEDIATE": 100, "PUT_REQ": 5000} {
		p := newPair(t)
		a := p.ends[0]
		m := a.send(wire.Put, n, 1, 1, false)
		p.ends[1].hold = true
		a.deliver()
		err := newError(TransportFailed, lustre(a.x.cfg.peer), nil)
		a.step(exchangeIn{kind: exchangeSent, id: a.completes[0], err: err})
		a.step(exchangeIn{kind: exchangeClose, err: err})
		if cause, ended := a.sent[m]; !ended || cause == nil {
			t.Errorf("%s ended %v with %v", name, ended, cause)
		}
	}
}
