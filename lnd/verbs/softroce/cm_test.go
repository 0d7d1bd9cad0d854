package softroce

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
)

// newListening returns n nodes of which node 1 listens.
func newListening(t testing.TB, seed uint64, n int, l weather) *cmNet {
	x := newCMNet(t, seed, n, l)
	x.do(1, cmCall{Kind: callListen, Port: testPort})
	return x
}

// TestCMConnect makes a connection and ends it, and compares what both sides know about it
// (rocev2 §13.1).
func TestCMConnect(t *testing.T) {
	x := newListening(t, 1, 2, weather{delay: time.Millisecond})
	end := x.end(0)
	id := x.connect(0, 1)
	x.run(time.Second)
	x.expect(0, cmEstablished)
	x.expect(1, cmRequested, cmEstablished)
	asked, granted := x.nodes[1].events[0], x.nodes[0].events[0]
	if diff := cmp.Diff(end, asked.Peer); diff != "" {
		t.Error(diff)
	}
	if asked.From != netip.AddrPortFrom(x.nodes[0].addr, 1023) || asked.Port != testPort || !bytes.HasPrefix(asked.private, []byte("please\x00")) ||
		len(asked.private) != verbs.MaxRequestPrivate {
		t.Errorf("asked %+v", asked)
	}
	if granted.Peer.PSN != 8 || granted.Peer.RNRRetryCount != 6 || granted.Peer.MTU != ibta.MTU1024 || granted.ID != id ||
		!bytes.HasPrefix(granted.private, []byte("yes\x00")) || len(granted.private) != verbs.MaxAcceptPrivate {
		t.Errorf("granted %+v", granted)
	}
	if x.nodes[0].wake != 1<<63-1 || x.nodes[1].wake != 1<<63-1 {
		t.Error("an established connection waits for something")
	}
	x.do(1, cmCall{Kind: callDisconnect, ID: asked.ID})
	x.run(time.Minute)
	x.expect(0, cmEstablished, cmDisconnected)
	x.expect(1, cmRequested, cmEstablished, cmDisconnected)
	x.empty()
	want := map[ibta.Attribute]int{ibta.AttrREQ: 1, ibta.AttrREP: 1, ibta.AttrRTU: 1, ibta.AttrDREQ: 1, ibta.AttrDREP: 1}
	if diff := cmp.Diff(want, x.sent); diff != "" {
		t.Error(diff)
	}
}

// TestCMLost loses the first copies of each message in turn: the connection is made and ended
// nevertheless, and the loss of one message costs little more than a tenth of a second.
func TestCMLost(t *testing.T) {
	for _, kind := range []ibta.Attribute{ibta.AttrREQ, ibta.AttrREP, ibta.AttrRTU, ibta.AttrDREQ, ibta.AttrDREP} {
		t.Run(kind.String(), func(t *testing.T) {
			x := newListening(t, 2, 2, weather{delay: time.Millisecond})
			lost := 0
			x.drop = func(_ int, m ibta.MAD) bool {
				if m.Attribute != kind || lost == 1 {
					return false
				}
				lost++
				return true
			}
			id := x.connect(0, 1)
			x.run(110 * time.Millisecond)
			x.expect(0, cmEstablished)
			x.expect(1, cmRequested, cmEstablished)
			x.do(0, cmCall{Kind: callDisconnect, ID: id})
			x.run(220 * time.Millisecond)
			x.expect(1, cmRequested, cmEstablished, cmDisconnected)
			x.run(time.Minute)
			x.empty()
			if lost != 1 {
				t.Error("nothing was lost")
			}
		})
	}
}

// TestCMBadLink makes and ends connections over a link that loses, duplicates and reorders
// messages: both ends agree on each connection, nothing is left, and two runs are the same.
func TestCMBadLink(t *testing.T) {
	for seed := range uint64(20) {
		run := func() string {
			x := newListening(t, seed, 4, weather{delay: time.Millisecond, jitter: 900 * time.Millisecond, loss: 0.2, duplicate: 0.2})
			var ids [4][]ibta.CommID
			for round := range 5 {
				for _, i := range []int{0, 2, 3} {
					ids[i] = append(ids[i], x.connect(i, 1))
				}
				x.run(time.Duration(round+1) * 300 * time.Millisecond)
			}
			x.run(3 * time.Minute)
			for _, i := range []int{0, 2, 3} {
				if n := len(x.nodes[i].events); n != 5 {
					t.Fatalf("seed %d: node %d: %d events\n%s", seed, i, n, &x.trace)
				}
				for k, id := range ids[i] {
					if k%2 == 0 {
						x.do(i, cmCall{Kind: callDisconnect, ID: id})
					}
				}
			}
			for _, e := range x.nodes[1].events {
				if e.Kind == cmEstablished && e.ID%2 == 0 && x.nodes[1].cm.conns[e.ID] != nil {
					x.do(1, cmCall{Kind: callDisconnect, ID: e.ID})
				}
			}
			x.run(6 * time.Minute)
			live := 0
			for i, n := range x.nodes {
				for _, c := range n.cm.conns {
					other := x.nodes[0]
					for _, m := range x.nodes {
						if m.addr == c.peer {
							other = m
						}
					}
					if o := other.cm.conns[c.remote]; c.state != established || o == nil || o.remote != c.id || o.remoteQPN != c.qpn || o.qpn != c.remoteQPN {
						t.Fatalf("seed %d: node %d: connection %+v, its other end %+v\n%s", seed, i, c, o, &x.trace)
					}
					live++
				}
			}
			return fmt.Sprint(live, x.trace.String())
		}
		if a, b := run(), run(); a != b {
			t.Fatalf("seed %d: two runs differ", seed)
		}
	}
}

// TestCMNoNode sends a request to an address without a node: the request ends after all
// retries, or when the time that the consumer gave has passed.
func TestCMNoNode(t *testing.T) {
	x := newCMNet(t, 3, 1, weather{})
	to := netip.MustParseAddrPort("10.9.9.9:987")
	x.do(0, cmCall{Kind: callConnect, To: to, End: x.end(0)})
	x.run(time.Hour)
	x.expect(0, cmUnreachable)
	if at := x.nodes[0].events[0].at; at < 30*time.Second || at > maxRequestTime || x.sent[ibta.AttrREQ] != 1+cmRetries {
		t.Errorf("after %v and %d times", at, x.sent[ibta.AttrREQ])
	}
	start := x.now
	x.do(0, cmCall{Kind: callConnect, To: to, End: x.end(0), Timeout: 3 * time.Second})
	x.run(2 * time.Hour)
	x.expect(0, cmUnreachable, cmUnreachable)
	if took := x.nodes[0].events[1].at - start; took != 3*time.Second {
		t.Errorf("took %v", took)
	}
	x.empty()
	for _, bad := range []string{"224.0.0.1:9", "[fe80::1]:9", "0.0.0.0:9"} {
		if _, err := x.step(0, cmInput{Call: cmCall{Kind: callConnect, To: netip.MustParseAddrPort(bad)}}); err == nil {
			t.Error(bad)
		}
	}
}

// TestCMSlowConsumer: a consumer takes half a minute to answer. An MRA makes the peer wait,
// so it repeats its request few times. Another consumer never answers, and leaves no state.
func TestCMSlowConsumer(t *testing.T) {
	x := newListening(t, 4, 2, weather{delay: time.Millisecond})
	x.nodes[1].accept = false
	x.connect(0, 1)
	x.run(30 * time.Second)
	x.expect(1, cmRequested)
	id := x.nodes[1].events[0].ID
	x.do(1, cmCall{Kind: callAccept, ID: id, End: x.end(1)})
	x.run(40 * time.Second)
	x.expect(0, cmEstablished)
	if x.sent[ibta.AttrREQ] != 2 || x.sent[ibta.AttrMRA] != 1 {
		t.Error(x.sent)
	}
	x.connect(0, 1)
	x.run(time.Hour)
	x.expect(0, cmEstablished, cmUnreachable)
	late := x.nodes[1].events[len(x.nodes[1].events)-1].ID
	if _, err := x.step(1, cmInput{Call: cmCall{Kind: callAccept, ID: late, End: x.end(1)}}); err != verbs.ErrClosed {
		t.Errorf("accepted late: %v", err)
	}
	if len(x.nodes[1].cm.conns) != 1 || x.nodes[1].cm.pending != 0 {
		t.Error("it is remembered")
	}
}

// TestCMHeard: the RTU is lost. The first data that arrives counts in its place: the connection is
// established, and the REP is not sent again.
func TestCMHeard(t *testing.T) {
	x := newListening(t, 5, 2, weather{delay: time.Millisecond})
	x.drop = func(_ int, m ibta.MAD) bool { return m.Attribute == ibta.AttrRTU }
	x.connect(0, 1)
	x.run(10 * time.Millisecond)
	x.expect(1, cmRequested)
	x.do(1, cmCall{Kind: callHeard, ID: x.nodes[1].events[0].ID})
	x.expect(1, cmRequested, cmEstablished)
	if x.run(time.Hour); x.sent[ibta.AttrREP] != 1 {
		t.Error(x.sent)
	}
}

// TestCMBothDisconnect: both sides end a connection at once. Each gets one event Disconnected, and no
// state is left.
func TestCMBothDisconnect(t *testing.T) {
	x := newListening(t, 6, 2, weather{delay: time.Millisecond})
	id := x.connect(0, 1)
	x.run(time.Second)
	x.do(0, cmCall{Kind: callDisconnect, ID: id})
	x.do(1, cmCall{Kind: callDisconnect, ID: x.nodes[1].events[0].ID})
	x.run(time.Minute)
	x.expect(0, cmEstablished, cmDisconnected)
	x.expect(1, cmRequested, cmEstablished, cmDisconnected)
	x.empty()
}

// TestCMCancel withdraws a request: the other side is notified, whether or not it has granted the
// request already.
func TestCMCancel(t *testing.T) {
	for _, accept := range []bool{false, true} {
		x := newListening(t, 7, 2, weather{delay: time.Millisecond})
		x.nodes[1].accept = accept
		x.drop = func(_ int, m ibta.MAD) bool { return m.Attribute == ibta.AttrREP }
		id := x.connect(0, 1)
		x.run(10 * time.Millisecond)
		x.do(0, cmCall{Kind: callDisconnect, ID: id})
		x.run(time.Minute)
		x.expect(0, cmDisconnected)
		if accept {
			x.expect(1, cmRequested, cmRejected)
		} else {
			x.expect(1, cmRequested)
		}
		x.empty()
	}
}

// TestCMEndedBeforeREP: the REP is lost, and the passive side ends the connection without repeating
// it. The active side stops repeating its REQ.
func TestCMEndedBeforeREP(t *testing.T) {
	x := newListening(t, 1, 2, weather{delay: time.Millisecond})
	x.drop = func(_ int, m ibta.MAD) bool { return m.Attribute == ibta.AttrREP }
	x.connect(0, 1)
	x.run(100 * time.Millisecond)
	x.expect(1, cmRequested)
	x.do(1, cmCall{Kind: callDisconnect, ID: x.nodes[1].events[0].ID})
	x.run(10 * time.Second)
	x.expect(1, cmRequested, cmDisconnected)
	x.expect(0, cmRejected)
	if e := x.nodes[0].events[0]; e.Reason != ibta.RejectStale {
		t.Errorf("reason %v", e.Reason)
	}
	x.run(3 * time.Minute)
	x.empty()
}
