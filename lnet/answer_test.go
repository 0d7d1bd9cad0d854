package lnet_test

import (
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// answer returns an ACK that is to leave by ni, to the process asker. It answers a message whose header had
// the source NID source.
func answer(ni *lnet.NI, asker nid.ProcessID, source nid.NID) *lnet.Message {
	m := new(lnet.Message)
	m.Init()
	m.Header.SetAck(wire.AckCmd{DstMD: wire.MDHandle{Interface: 1, Object: 2}})
	m.Header.DestNID, m.Header.DestPID = source, asker.PID
	m.Answers, m.Asker = ni, asker
	return m
}

// TestAnswerGoesBack: an answer leaves by the NI that received the request, to the process at the other end
// of that connection, no matter what the header of the request says and what the node knows about the sender.
func TestAnswerGoesBack(t *testing.T) {
	far := nid.MustParse("10.7.0.1@tcp7")
	for name, c := range map[string]struct {
		at     nid.NID // NID of the NI that received the request
		asker  nid.ProcessID
		source nid.NID
	}{
		"first NI":                   {self, nid.ProcessID{NID: peerA, PID: nid.LustrePID}, peerA},
		"second NI of the net":       {second, nid.ProcessID{NID: peerA, PID: nid.LustrePID}, peerA},
		"a user's process":           {self, nid.ProcessID{NID: peerA, PID: nid.UserPID | 7}, peerA},
		"a process that is called 0": {self, nid.ProcessID{NID: peerA}, peerA},
		"header names another peer":  {second, nid.ProcessID{NID: peerA, PID: nid.LustrePID}, peerB},
		"header names another net":   {self, nid.ProcessID{NID: peerA, PID: nid.LustrePID}, far},
		"header names us":            {self, nid.ProcessID{NID: peerA, PID: nid.LustrePID}, second},
		"header names a detour":      {self, nid.ProcessID{NID: peerA, PID: nid.LustrePID}, peerC},
	} {
		t.Run(name, func(t *testing.T) {
			r, drivers := newWide(t)
			r.node.SetPeer(lnet.Peer{Primary: peerC, NIs: []wire.NIStatus{{NID: peerC}, {NID: peer1}}})
			var ni *lnet.NI
			for _, ni = range r.node.NIs() {
				if ni.NID() == c.at {
					break
				}
			}
			m := answer(ni, c.asker, c.source)
			r.node.Send(m)
			d := drivers[c.at]
			if len(d.sent) != 1 || m.Header.SrcNID != c.at || m.Target != c.asker || m.Header.DestNID != c.source {
				t.Fatalf("%d at the driver: from %v to %v by %v", len(d.sent), m.Header.SrcNID, m.Header.DestNID, m.Target)
			}
			d.finalize(nil)
			if r.node.HasPeer(c.source) && c.source != c.asker.NID && c.source != peerC {
				t.Errorf("the answer made %v a peer", c.source)
			}
		})
	}
}

// TestAnswerAfterItsNI: an answer fails if the NI that received the request was removed. No other NI sends it.
func TestAnswerAfterItsNI(t *testing.T) {
	r, drivers := newWide(t)
	if err := r.node.RemoveNI(t.Context(), r.ni); err != nil {
		t.Fatal(err)
	}
	var failed error
	r.up.onSent = func(_ *lnet.Message, err error) { failed = err }
	r.node.Send(answer(r.ni, nid.ProcessID{NID: peerA, PID: nid.LustrePID}, peerA))
	if n := len(drivers[second].sent); n != 0 || failed != syscall.ESHUTDOWN {
		t.Errorf("%d left by the other NI; ended with %v, want %v", n, failed, syscall.ESHUTDOWN)
	}
}

// TestAnswerWithinTheNode: an answer over loopback has the source NID to which the request
// was sent.
func TestAnswerWithinTheNode(t *testing.T) {
	r, _ := newWide(t)
	var got wire.Header
	r.up.arrive = func(_ *lnet.NI, d *lnd.Delivery) (lnd.Answer, lnet.DropReason) {
		got = d.Header
		d.Owner = r.up
		return lnd.Accept, lnet.NotDropped
	}
	lo := r.node.NIs()[3]
	r.node.Send(answer(lo, nid.ProcessID{NID: self1, PID: nid.LustrePID}, self1))
	if got.SrcNID != self1 || got.DestNID != self1 {
		t.Errorf("from %v to %v, want %v", got.SrcNID, got.DestNID, self1)
	}
}
