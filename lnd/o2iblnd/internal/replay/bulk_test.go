package replay_test

import (
	"maps"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/o2iblnd/internal/replay"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce"
)

// adopt makes the node use a connection to the host that was open when the recording began.
// stamp is the incarnation stamp of the host.
func (n *node) adopt(c replay.Conn, stamp uint64) {
	n.t.Helper()
	if !c.Adopted {
		n.t.Fatal("the recording begins with a connection")
	}
	own := 0
	if c.Ends[1] == n.addr {
		own = 1
	}
	host := c.Ends[1-own]
	err := n.ni.(*o2iblnd.NI).Adopt(o2iblnd.Adoption{
		Peer: o2ib(host), PeerStamp: stamp,
		Connect: func(dev verbs.Device, qp verbs.QPConfig, events func(verbs.Conn, verbs.Event)) (verbs.Conn, error) {
			return softroce.Adopt(dev, softroce.AdoptConfig{
				QP: qp, Peer: host, QPN: c.QPN[own], DestQP: c.QPN[1-own], SendPSN: c.PSN[own], RecvPSN: c.PSN[1-own],
				MTU: ibta.MTUWithin(c.MTU), RetryCount: 5, RNRRetryCount: 6, MSN: c.MSN[own],
			}, events)
		},
	})
	if err != nil {
		n.t.Fatal(err)
	}
}

// TestBulk replays a bulk write of 1 MiB and a bulk read of 64 KiB of two kernels, which are
// GET_REQ and PUT_REQ, against our driver in both roles. Credits, cookies, keys, addresses, PSNs
// and the place of each packet of an RDMA WRITE are those of the kernel. What differs: the BTH
// bits AckReq and MigReq, the turns of our WRITEs, when the credit of a GET_REQ goes back, and
// the second cookie of a connection.
func TestBulk(t *testing.T) {
	const (
		m, ask = "migration bit", "AckReq inside a message"
		turns  = "opcode and RETH inside a transfer"
		cookie = "cookie of a later transfer"
		credit = "credit of a GET_REQ"
	)
	want := map[string]map[string]int{
		"10.88.0.2": {m: 0, ask: 0, turns: 5, credit: 2},
		"10.88.0.3": {m: 0, ask: 0, cookie: 1},
	}
	for _, variant := range []string{"as one batch", "one by one", "held", "eager"} {
		t.Run(variant, func(t *testing.T) {
			roles(t, bulk, func(t *testing.T, s *replay.Script, host netip.Addr) {
				n := newNode(t, s, host, nil)
				n.Single, n.up.hold = variant == "one by one", variant == "held"
				if variant == "eager" {
					n.eager(s)
				}
				n.adopt(s.Conns()[0], s.Numbers(host).Stamp)
				n.play()
				for what := range n.Player.Seen { // only the kinds of differences matter, not their number
					if what == m || what == ask {
						n.Player.Seen[what] = 0
					}
				}
				want := maps.Clone(want[n.addr.String()])
				if variant == "eager" {
					delete(n.Player.Seen, credit)
					delete(want, credit)
				}
				if diff := cmp.Diff(want, n.Player.Seen); diff != "" {
					t.Errorf("differences (-want +got)\n%s", diff)
				}
			})
		})
	}
}

// eager makes the node answer each GET and each request of lnet_selftest from inside
// Parse, as handlers do: then the answer may leave before the RoCE ACK of the request.
func (n *node) eager(s *replay.Script) {
	n.Player.LateCredits = true
	var answers []int // for each message that arrives: script index of the operation that answers it; 0: none does
	for i := range s.Packets {
		p := &s.Packets[i]
		if p.Msg == nil || p.From.Addr() == n.addr {
			continue
		}
		switch p.Msg.Type {
		case kib.Immediate, kib.GetReq:
			answers = append(answers, n.answer(s, i))
		case kib.PutDone, kib.GetDone:
			answers = append(answers, 0) // no answer from inside Parse, because the payload has not arrived then
		}
	}
	n.up.parsed = func(message int) {
		at := answers[message]
		if op, is := n.ops[at]; is && at > 0 {
			delete(n.ops, at)
			n.send(&op)
		}
	}
}

// answer returns the script index of the next operation after packet i, or 0 if the player sends
// another message before that operation.
func (n *node) answer(s *replay.Script, i int) int {
	for at := i + 1; at < len(s.Packets); at++ {
		if _, is := n.ops[at]; is {
			return at
		}
		if q := &s.Packets[at]; q.From.Addr() != n.addr && q.Msg != nil {
			break
		}
	}
	return 0
}
