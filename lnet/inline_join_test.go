package lnet_test

import (
	"errors"
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// sendLong sends a message that is too long for a buffer.
func sendLong(node *lnet.Node) {
	m := put(peerA, 9)
	m.Payload = lnd.Payload{Segments: []lnd.Segment{make([]byte, lnd.MaxInline+1)}, Length: lnd.MaxInline + 1}
	node.Send(m)
}

// TestPostJoinsInOrder: while something waits that messages must not overtake, none is posted, even if a
// buffer has room. Afterwards messages join the buffer again.
func TestPostJoinsInOrder(t *testing.T) {
	spec.Covers(t, "LN-6")
	for name, c := range map[string]struct {
		wait func(node *lnet.Node)
		end  func(node *lnet.Node, p *poster)
	}{
		"a message waits for a credit": {
			wait: sendLong,
			end:  func(*lnet.Node, *poster) {},
		},
		"the peer has to be discovered": {
			wait: func(node *lnet.Node) { node.SetDiscoverer(func(nid.NID) {}) },
			end:  func(node *lnet.Node, _ *poster) { node.SetDiscoverer(nil) },
		},
		"a message waits for discovery": {
			wait: func(node *lnet.Node) {
				node.SetDiscoverer(func(nid.NID) {})
				sendLong(node)
			},
			end: func(node *lnet.Node, p *poster) {
				node.SetPeer(lnet.Peer{
					Primary: peerA, NIs: []wire.NIStatus{{NID: peerA, Status: wire.StatusUp}}, Flags: lnet.PeerDiscovered | lnet.PeerNIDsUpToDate,
				})
				if post(node, peerA, 8) {
					t.Error("a message was posted while one waits for a credit after discovery")
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			node, p := newPoster(t, lnet.Config{}, lnd.Tunables{PeerCredits: 1})
			p.size = 100
			p.meet(node)
			for bits := range uint64(3) {
				if !post(node, peerA, bits+1) {
					t.Fatalf("message %d was not posted", bits+1)
				}
			}
			c.wait(node)
			if post(node, peerA, 10) {
				t.Error("a message was posted while something waits")
			}
			c.end(node, p)
			p.leave()
			p.driver.finalize(nil)
			p.room = 0
			for bits := range uint64(3) {
				if !post(node, peerA, bits+11) {
					t.Errorf("message %d was not posted afterwards", bits+11)
				}
			}
		})
	}
}

// TestPostJoinsCounted: messages that joined a buffer count as queued like its first one, until they have left.
func TestPostJoinsCounted(t *testing.T) {
	node, p := newPoster(t, lnet.Config{}, lnd.Tunables{})
	p.size = 10
	p.meet(node)
	for bits := range uint64(4) {
		post(node, peerA, bits+1)
	}
	const size = 72 + 4
	if s := node.Snapshot(); s.Stats.MsgsAlloc != 4 || s.Peers[0].QueuedBytes != 4*size {
		t.Errorf("%d messages are in flight, %d bytes", s.Stats.MsgsAlloc, s.Peers[0].QueuedBytes)
	}
	post(node, peerA, 5)
	p.leave()
	if s := node.Snapshot(); s.Stats.MsgsAlloc != 0 || s.Peers[0].QueuedBytes != 0 || s.Stats.MsgsMax != 5 || s.Stats.SendCount != 6 {
		t.Errorf("%d messages are in flight, %d bytes; at most %d were in flight, %d have left",
			s.Stats.MsgsAlloc, s.Peers[0].QueuedBytes, s.Stats.MsgsMax, s.Stats.SendCount)
	}
}

// TestPostFailsInPart: a buffer fails after some of its messages have left. Until the last message has ended,
// the peer is not idle, so that no other peer takes its place in a full table. The failures count for this
// peer.
func TestPostFailsInPart(t *testing.T) {
	spec.Covers(t, "LN-6")
	node, p := newPoster(t, lnet.Config{MaxPeers: 1}, lnd.Tunables{PeerCredits: 1})
	p.size = 10
	p.meet(node)
	for bits := range uint64(5) {
		post(node, peerA, bits+1)
	}
	p.driver.up.PeerDown(nid.ProcessID{NID: peerA, PID: nid.LustrePID}, syscall.ECONNRESET)
	p.onLeft = func() {
		if s := node.Snapshot(); s.Stats.MsgsAlloc == 0 || s.Peers[0].Credits != 0 {
			t.Errorf("%d messages are in flight, %d credits are free", s.Stats.MsgsAlloc, s.Peers[0].Credits)
		}
		node.Send(put(peerB, 9))
	}
	p.leaveFirst(2)
	if err, ended := p.result(9); !ended || !errors.Is(err, syscall.ENOBUFS) {
		t.Errorf("a message to another peer ended %t with %v", ended, err)
	}
	p.lose(lnd.Failed(lnd.RemoteDropped, syscall.ECONNRESET))
	s := node.Snapshot()
	if a := s.Peers[0]; a.NID != peerA || a.Failures.RemoteDropped != 3 || a.Credits != 1 || a.QueuedBytes != 0 || s.Stats.MsgsAlloc != 0 {
		t.Errorf("afterwards the peer is %+v, and %d messages are in flight", a, s.Stats.MsgsAlloc)
	}
	if node.Send(put(peerB, 10)); !p.driver.finalize(nil) {
		t.Error("the peer still counts as busy")
	}
}

// TestPostMax: MsgsMax, the most messages that were in flight at once, counts each message once: also
// messages in several buffers, which end one by one, and a message that waits before it goes into a buffer.
func TestPostMax(t *testing.T) {
	node, p := newPoster(t, lnet.Config{}, lnd.Tunables{PeerCredits: 8})
	p.size = 10
	p.meet(node)
	p.driver.onSend = func(d *driver, m *lnd.Message) {
		p.driver.onSend = nil
		d.Send(m)
		node.Send(put(peerA, 1)) // this message waits, because the call that gives the driver the message before it has not returned
	}
	sendLong(node)
	if n := node.Stats().MsgsMax; n != 2 || len(p.posted) != 1 {
		t.Errorf("at most %d messages were in flight, want 2; %d were posted", n, len(p.posted))
	}
	p.driver.finalize(nil)
	for bits := range uint64(79) {
		if !post(node, peerA, bits+2) {
			t.Fatalf("message %d was not posted", bits+2)
		}
	}
	p.room = 0
	for range 8 {
		p.leaveFirst(10)
	}
	if n := node.Stats().MsgsMax; n != 80 {
		t.Errorf("at most %d messages were in flight, want 80", n)
	}
}
