package replay_test

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd"
	"ulnet/lnd/o2iblnd/internal/replay"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
)

// TestRejectsAsKernel replays the recording of rejects with this driver in the kernel's place,
// in one incarnation. It refuses a queue that is too deep, a stamp that is not ours, a port and
// a net that do not exist, an unknown version, and an RDMA-CM header without IP version. It
// accepts a connection from an unprivileged port. When it is itself refused because its queue
// is too deep, it asks again with a shorter queue and the stamp from the refusal. Frame 1 ends
// a connection from before the recording.
func TestRejectsAsKernel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, load(t, rejects).Cut(2, 31), improvised, nil)
		n.play()
		want := map[string]int{ // we send 11 CM messages, two of them REQs, a GET and a REPLY
			"ACK timeout": 2, "PSN and AckReq of QP 1": 11, "migration bit": 13, "transaction id of a REQ or DREQ": 2,
			"comm id of a later connection": 2,
		}
		if diff := cmp.Diff(want, n.Player.Seen); diff != "" {
			t.Errorf("differences (-want +got)\n%s", diff)
		}
	})
}

// TestStrangersDREQ: a DREQ for a connection that we do not have is answered, as in Linux, so
// that the kernel need not repeat it. Such a DREQ is frame 1 of the recording rejects. The improvised
// peer of that recording did not answer it.
func TestStrangersDREQ(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole := load(t, rejects)
		answer := whole.Cut(22, 22).Edit(func(p *replay.Packet) { // a DREP with the sides exchanged
			dreq := whole.Packets[0].CM
			p.From, p.To = netip.AddrPortFrom(improvised, p.From.Port()), netip.AddrPortFrom(kernel, ibta.Port)
			p.CM.MAD.TransactionID = dreq.MAD.TransactionID
			p.CM.DREP.LocalID, p.CM.DREP.RemoteID = dreq.DREQ.RemoteID, dreq.DREQ.LocalID
		})
		newNode(t, whole.Cut(1, 1).Then(answer), kernel, nil).play()
	})
}

// improvisedPort lets the replay pass with another source port than the recorded 2000: any port
// above 1023 will do.
var improvisedPort = replay.Difference{
	What: "unprivileged port", Reason: "which one does not matter; the improvised peer took 2000",
	Adapt: func(_ *replay.Differences, want, node *replay.Packet) (bool, error) {
		if want.CM == nil || want.CM.IP == nil || node.CM.IP == nil || want.CM.IP.SrcPort < 1024 || node.CM.IP.SrcPort < 1024 {
			return false, nil
		}
		want.CM.IP.SrcPort = node.CM.IP.SrcPort
		return true, nil
	},
}

// TestUnprivilegedPort replays frames 14 to 22 as the improvised peer: a connection
// from a port above 1023, a ping, and the end.
func TestUnprivilegedPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, load(t, rejects).Cut(14, 22), kernel, func(c *o2iblnd.Config, _ *lnd.Config) { c.UnprivilegedPort = true })
		n.Player.Also = append([]replay.Difference{improvisedPort}, n.Player.Also...)
		n.play()
		if n.Player.Seen[improvisedPort.What] != 1 {
			t.Error("the port is privileged")
		}
	})
}

// TestRejectAsImprovised: the kernel asks for a queue that is too deep, is refused, and asks
// again (frames 23 to 31). The test doubles the recorded queue depths, because ulnet's queues
// cannot be as short as the recorded ones: ulnet's minimum depth is 8.
func TestRejectAsImprovised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := load(t, rejects).Cut(23, 31).Edit(func(p *replay.Packet) {
			if p.CM == nil {
				return
			}
			if p.CM.Msg != nil {
				p.CM.Msg.Params.QueueDepth *= 2
			}
			if p.CM.Reject != nil {
				p.CM.Reject.Params.QueueDepth *= 2
			}
		})
		newNode(t, s, kernel, nil).play()
	})
}

// incarnations changes the connection of frames 14 to 22 into the next one that the sender of
// an earlier REQ makes: with that sender's adapter and stamp, the next queue pair, a privileged
// port, and the stamp of the kernel that the reject has reported.
func incarnations(whole *replay.Script, req *replay.Packet, stamp uint64) *replay.Script {
	good := whole.Cut(14, 22)
	old := good.Packets[0].CM
	oldQPN, oldStamp := old.REQ.QPN, old.Msg.SrcStamp
	restamp := func(m *kib.Msg) {
		if m.SrcStamp == oldStamp {
			m.SrcStamp = req.CM.Msg.SrcStamp
		}
		if m.DstStamp == oldStamp {
			m.DstStamp = req.CM.Msg.SrcStamp
		}
	}
	return good.Edit(func(p *replay.Packet) {
		if p.Msg != nil {
			restamp(p.Msg)
		}
		if p.DestQP == oldQPN {
			p.DestQP = req.CM.REQ.QPN + 1
		}
		if c := p.CM; c != nil && c.Msg != nil {
			restamp(c.Msg)
			if c.MAD.Attribute == ibta.AttrREQ {
				c.REQ.QPN, c.REQ.LocalGUID = req.CM.REQ.QPN+1, req.CM.REQ.LocalGUID
				c.IP.SrcPort, c.Msg.DstStamp = 1023, stamp
			}
		}
	})
}

// TestAgainAfterReject makes a kernel refuse our request, with the recorded rejects and with
// others made from them. It checks what comes next (o2iblnd-wire §7.2): a request with the
// parameters that the kernel has offered, the connection, and the ping.
func TestAgainAfterReject(t *testing.T) {
	const stamp = 1795208531088883 // incarnation stamp of the kernel
	for _, tt := range []struct {
		name    string
		frame   int // frame number of the REQ; the REJ has the next one
		credits int
		asked   func(*replay.CM) // changes the recorded REQ into one that our node can send
		refused func(*replay.CM) // edits the REJ
		again   func(*replay.CM) // edits the REQ that follows the REJ
		stamp   uint64
	}{
		{name: "MSG_QUEUE_SIZE", frame: 2, credits: 32, stamp: stamp},
		{name: "CONN_STALE", frame: 4, asked: func(c *replay.CM) { c.Msg.DstStamp = 0 }, stamp: stamp},
		{
			name: "RDMA_FRAGS", frame: 2, credits: 32, stamp: stamp,
			refused: func(c *replay.CM) { c.Reject.Why, c.Reject.Params.MaxFrags = kib.RDMAFrags, 100 },
			again:   func(c *replay.CM) { c.Msg.Params.MaxFrags = 100; c.Msg.Params.QueueDepth = 32 },
		},
		{
			name: "CONN_RACE", frame: 2, credits: 32, stamp: 0,
			refused: func(c *replay.CM) { c.Reject.Why = kib.ConnRace },
			again:   func(c *replay.CM) { c.Msg.Params.QueueDepth = 32 },
		},
		{
			name: "stale for the CM", frame: 2, credits: 32, stamp: 0,
			refused: func(c *replay.CM) { c.Reject, c.REJ.Reason = nil, ibta.RejectStale },
			again:   func(c *replay.CM) { c.Msg.Params.QueueDepth = 32 },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				whole := load(t, rejects)
				first := whole.Cut(tt.frame, tt.frame+1).Edit(func(p *replay.Packet) { change(p, tt.asked, tt.refused) })
				then := incarnations(whole, &first.Packets[0], tt.stamp).Edit(func(p *replay.Packet) {
					if tt.again != nil && p.CM != nil && p.CM.Msg != nil {
						tt.again(p.CM)
					}
				})
				n := newNode(t, first.Then(then), kernel, func(_ *o2iblnd.Config, c *lnd.Config) { c.Tunables.PeerCredits = tt.credits })
				n.play()
			})
		})
	}
}

// change applies the changes of a REQ and of a REJ.
func change(p *replay.Packet, asked, refused func(*replay.CM)) {
	switch {
	case p.CM.MAD.Attribute == ibta.AttrREQ && asked != nil:
		asked(p.CM)
	case p.CM.MAD.Attribute == ibta.AttrREJ && refused != nil:
		refused(p.CM)
	}
}

// TestGiveUpAfterReject makes a kernel refuse our request for good: the message that
// waited fails, and nothing more is asked for.
func TestGiveUpAfterReject(t *testing.T) {
	toUs := func(c *replay.CM) { // turns a recorded REQ into a valid one
		m, err := kib.ParseMsg(c.REQ.Private[ibta.IPCMSize:])
		if err != nil {
			m, _ = kib.ParseMsg(load(t, rejects).Packets[1].CM.REQ.Private[ibta.IPCMSize:])
		}
		m.DstNID, m.Params.QueueDepth = o2ib(kernel), 8
		c.IP, c.Msg, c.Private = &ibta.IPCM{SrcPort: 1023, Src: improvised, Dst: kernel}, &m, nil
	}
	why := func(w kib.Why) func(*replay.CM) { return func(c *replay.CM) { c.Reject.Why = w } }
	for _, tt := range []struct {
		name    string
		frame   int
		service uint16
		asked   func(*replay.CM)
		refused func(*replay.CM)
		errno   syscall.Errno
		reason  o2iblnd.Reason
	}{
		{name: "nobody listens", frame: 6, service: 988, errno: syscall.EHOSTUNREACH, reason: o2iblnd.NoListener},
		{name: "FATAL for another net", frame: 8, asked: toUs, errno: syscall.ECONNREFUSED, reason: o2iblnd.Rejected},
		{name: "FATAL for the version", frame: 10, asked: toUs, errno: syscall.ECONNREFUSED, reason: o2iblnd.Rejected},
		{name: "by RDMA-CM", frame: 12, asked: toUs, errno: syscall.ECONNREFUSED, reason: o2iblnd.Rejected},
		{name: "NO_RESOURCES", frame: 8, asked: toUs, refused: why(kib.NoResources), errno: syscall.ECONNREFUSED, reason: o2iblnd.RejectedLimit},
		{name: "EARLY", frame: 8, asked: toUs, refused: why(kib.Early), errno: syscall.ECONNREFUSED, reason: o2iblnd.RejectedEarly},
		{name: "depth that is no less", frame: 8, asked: toUs, refused: func(c *replay.CM) {
			c.Reject.Why, c.Reject.Params.QueueDepth = kib.MsgQueueSize, 8
		}, errno: syscall.ECONNREFUSED, reason: o2iblnd.RejectedDepth},
		{name: "fragments that are no less", frame: 8, asked: toUs, refused: func(c *replay.CM) {
			c.Reject.Why, c.Reject.Params.MaxFrags = kib.RDMAFrags, 257
		}, errno: syscall.ECONNREFUSED, reason: o2iblnd.RejectedFrags},
		{name: "FATAL of an old peer", frame: 8, asked: toUs, refused: func(c *replay.CM) {
			c.Reject.Why, c.Reject.Version = kib.Fatal, kib.V1
		}, errno: syscall.EPROTONOSUPPORT, reason: o2iblnd.RejectedVersion},
		{name: "another reason of the CM", frame: 12, asked: toUs, refused: func(c *replay.CM) {
			c.REJ.Reason = 25
		}, errno: syscall.ECONNREFUSED, reason: o2iblnd.Rejected},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				whole := load(t, rejects)
				s := whole.Cut(tt.frame, tt.frame+1).Edit(func(p *replay.Packet) { change(p, tt.asked, tt.refused) })
				n := newNode(t, s, kernel, func(c *o2iblnd.Config, _ *lnd.Config) { c.Service = tt.service })
				ping := whole.Cut(17, 17).Operations(improvised)[0]
				ping.At = 0
				n.ops[0] = ping
				if err := n.Run(); err != nil {
					t.Error(err)
				}
				if err := n.Quiet(15 * time.Second); err != nil { // longer than any pause before the node repeats a request
					t.Error(err)
				}
				if err := n.failure(); !errors.Is(err, tt.errno) {
					t.Errorf("the message failed with %v, want %v", err, tt.errno)
				}
				counters := n.ni.(*o2iblnd.NI).Snapshot().Counters
				if counters.Of(tt.reason) != 1 {
					t.Errorf("%v was counted %d times", tt.reason, counters.Of(tt.reason))
				}
				n.close()
			})
		})
	}
}

// failure returns how the only message of the node ended.
func (n *node) failure() error {
	n.up.mu.Lock()
	defer n.up.mu.Unlock()
	if len(n.sent) != 1 || len(n.up.ended) != 1 || len(n.up.downs) != 1 {
		return fmt.Errorf("%d messages sent, %d ended; the peer went down %d times", len(n.sent), len(n.up.ended), len(n.up.downs))
	}
	return n.up.ended[n.sent[0]]
}
