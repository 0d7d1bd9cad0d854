package lnet_test

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// poster is a driver that takes small messages, and an upper layer that posts them.
type poster struct {
	*driver
	*upper
	size   int          // number of messages for which a buffer has room
	room   int          // number of messages for which the latest buffer still has room
	full   bool         // Post refuses a message that would need another buffer
	posted []lnd.Inline // inline messages that the driver holds
	owner  any          // Owner of the message that opened the latest buffer; reports to lnet about that buffer must have this owner
	flush  int
	left   []uint64        // match bits of messages that have left
	onLeft func()          // called when messages have left; nil: no call
	again  []*lnet.Message // messages made from inline messages that have failed
}

func (p *poster) Startup(cfg lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	_, err := p.driver.Startup(cfg, up)
	return p, err
}

func (p *poster) Post(i *lnd.Inline, _ lnd.Payload, open bool) (lnd.Flusher, bool) {
	if i.Opens = p.room == 0; i.Opens {
		if !open || p.full {
			return nil, false
		}
		p.room, p.owner = p.size, i.Owner
	}
	p.room--
	p.posted = append(p.posted, *i)
	return p, true
}

func (p *poster) Flush() { p.flush++ }

// Buffered implements lnd.Inliner.
func (p *poster) Buffered(to nid.ProcessID) (messages, bytes int) {
	for n := range p.posted {
		if i := &p.posted[n]; i.To == to {
			messages += i.Messages()
			bytes += i.Messages() * int(i.Header.PayloadLength)
		}
	}
	return messages, bytes
}

func (p *poster) Shutdown(ctx context.Context) error {
	p.lose(syscall.ESHUTDOWN)
	return p.driver.Shutdown(ctx)
}

// lose fails all posted messages.
func (p *poster) lose(err error) {
	p.room = 0
	for range len(p.posted) {
		i := p.posted[0]
		i.Closes = p.closes(0)
		p.posted = p.posted[1:]
		p.lost(&i, i.Messages(), []byte{1, 2, 3, 4}, err)
	}
}

// closes reports whether a message that was posted is the last one in its buffer.
func (p *poster) closes(n int) bool { return n+1 == len(p.posted) || p.posted[n+1].Opens }

// lost reports to lnet that the last n messages that i stands for have failed with err.
func (p *poster) lost(i *lnd.Inline, n int, payload []byte, err error) {
	r := i.AppendRecord(nil)
	r[0].Closes = i.Closes
	p.driver.up.(lnd.InlineUpcalls).Lost(p.owner, &r[0], &i.Header, i.To, n, payload, err)
}

// leave reports to lnet that all posted messages have left.
func (p *poster) leave() {
	p.room = 0
	p.leaveFirst(len(p.posted))
}

// leaveFirst reports to lnet that the first n posted messages have left.
func (p *poster) leaveFirst(n int) {
	var list []lnd.Record
	to := p.posted[0].To
	for k := range n {
		list = p.posted[k].AppendRecord(list)
		list[k].Closes = p.closes(k)
	}
	p.posted = p.posted[n:]
	p.driver.up.(lnd.InlineUpcalls).Left(p.owner, list, to, 0)
}

func (p *poster) Left(list []lnd.Record, _ nid.NID) {
	for n := range list {
		p.left = append(p.left, (&wire.Header{Body: list[n].Body}).Put().MatchBits)
	}
	if p.onLeft != nil {
		p.onLeft()
	}
}

// Inline implements lnet.InlineUpper: each small message may be posted.
func (p *poster) Inline(m *lnet.Message, i *lnet.Inline) bool {
	*i = lnet.Inline{}
	i.Header = m.Header
	return true
}

// Posted implements lnet.InlineUpper.
func (p *poster) Posted(*lnet.Message) {}

func (p *poster) Lost(_ *lnd.Record, h *wire.Header, to nid.NID, payload []byte) *lnet.Message {
	m := put(to, h.Put().MatchBits)
	m.Header.PayloadLength = uint32(len(payload))
	m.Payload = lnd.Payload{Segments: []lnd.Segment{slices.Clone(payload)}, Length: len(payload)}
	p.again = append(p.again, m)
	return m
}

// newPoster returns a node that has one NI and can post.
func newPoster(t *testing.T, cfg lnet.Config, tunables lnd.Tunables) (*lnet.Node, *poster) {
	t.Helper()
	cfg.Incarnation, cfg.Clock = 7, machine.RealClock()
	node := lnet.New(cfg)
	p := &poster{size: 1, driver: &driver{id: self}, upper: &upper{ended: make(map[uint64]error)}}
	node.SetUpper(p)
	if _, err := node.AddNI(p, lnd.Config{Net: tcp, Tunables: tunables}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = node.Shutdown(over())
		if n := node.Stats().MsgsAlloc; n != 0 {
			t.Errorf("%d messages never ended", n)
		}
	})
	return node, p
}

// meet sends a first message to peerA, so that later ones can be posted.
func (p *poster) meet(node *lnet.Node) {
	p.driver.up.PeerUp(nid.ProcessID{NID: peerA, PID: nid.LustrePID})
	node.Send(put(peerA, 0))
	p.driver.finalize(nil)
}

func post(node *lnet.Node, to nid.NID, bits uint64) bool {
	i := new(lnet.Inline)
	i.Header = put(to, bits).Header
	i.Header.PayloadLength = 4
	return node.Post(i, lnd.Payload{Segments: []lnd.Segment{make([]byte, 4)}, Length: 4})
}

// TestPostCounts: inline messages take credits and are counted like others. When they have
// left, all their credits come back at once.
func TestPostCounts(t *testing.T) {
	node, p := newPoster(t, lnet.Config{}, lnd.Tunables{PeerCredits: 3})
	p.meet(node)
	for bits := range uint64(5) {
		if taken := post(node, peerA, bits+1); taken != (bits < 3) {
			t.Errorf("message %d taken: %t", bits+1, taken)
		}
	}
	s := node.Stats()
	if s.MsgsAlloc != 3 || p.flush != 3 {
		t.Errorf("%d messages in flight, %d flushed", s.MsgsAlloc, p.flush)
	}
	if src := p.posted[0].Header; src.SrcNID != self || src.SrcPID != nid.LustrePID || p.posted[0].To.NID != peerA {
		t.Errorf("header %+v to %v", src, p.posted[0].To)
	}
	node.Send(put(peerA, 9)) // this message waits for a credit
	if post(node, peerA, 10) {
		t.Error("a message overtakes one that waits for a credit")
	}
	p.leave()
	s = node.Stats()
	if s.MsgsAlloc != 1 || s.SendCount != 4 || s.SendLength != 12 || len(p.posted) != 1 || p.posted[0].Header.Put().MatchBits != 9 {
		t.Errorf("%+v, %d messages that waited were posted", s, len(p.posted))
	}
	if !slices.Equal(p.left, []uint64{1, 2, 3}) {
		t.Errorf("messages %d left", p.left)
	}
	if !post(node, peerA, 11) {
		t.Error("credits did not come back")
	}
	if at, ok := node.LastSent(nid.ProcessID{NID: peerA}); !ok || at == 0 {
		t.Errorf("last sent %v, %t", at, ok)
	}
}

// TestPostShares: the messages in one buffer have one credit, whether they leave or fail. Messages that wait for
// credits go on in their order, small ones in buffers, too.
func TestPostShares(t *testing.T) {
	for name, end := range map[string]func(*poster){
		"left": (*poster).leave,
		"lost": func(p *poster) { p.lose(syscall.EPROTO) },
	} {
		t.Run(name, func(t *testing.T) {
			node, p := newPoster(t, lnet.Config{}, lnd.Tunables{PeerCredits: 2})
			p.size = 3
			p.meet(node)
			for bits := range uint64(7) {
				if taken := post(node, peerA, bits+1); taken != (bits < 6) {
					t.Errorf("message %d taken: %t", bits+1, taken)
				}
			}
			for bits := range uint64(4) {
				m := put(peerA, bits+7)
				if bits == 2 { // this message is too long for a buffer
					m.Payload = lnd.Payload{Segments: []lnd.Segment{make([]byte, lnd.MaxInline+1)}, Length: lnd.MaxInline + 1}
				}
				node.Send(m)
			}
			end(p)
			if n := len(p.driver.inFlight()); len(p.posted) != 3 || n != 1 {
				t.Fatalf("%d messages were posted, %d sent", len(p.posted), n)
			}
			p.leave()
			p.driver.finalize(nil)
			if n := node.Stats().MsgsAlloc; n != 0 {
				t.Errorf("%d messages have not ended", n)
			}
			p.room = 0
			for bits := range uint64(6) {
				if !post(node, peerA, bits+20) {
					t.Errorf("message %d found no credit: some did not come back", bits)
				}
			}
		})
	}
}

// TestPostCopiesLost: of an inline message and its copies, which share a buffer with another message, two
// leave and two fail. Each counts once, and all credits and bytes come back.
func TestPostCopiesLost(t *testing.T) {
	spec.Covers(t, "PT-40")
	for name, opens := range map[string]bool{"first in the buffer": true, "second in the buffer": false} {
		t.Run(name, func(t *testing.T) {
			node, p := newPoster(t, lnet.Config{}, lnd.Tunables{PeerCredits: 2})
			p.size = 3
			p.meet(node)
			before := node.Snapshot()
			i := new(lnet.Inline)
			i.Header, i.Copies = put(peerA, 7).Header, 3
			if !opens {
				post(node, peerA, 1)
			}
			if !node.Post(i, lnd.Payload{}) || i.Opens != opens {
				t.Fatalf("opens a buffer: %t", i.Opens)
			}
			sent := node.Stats().MsgsAlloc - 2
			if !opens {
				p.leaveFirst(1)
			}
			p.posted, i.Closes = nil, true
			p.lost(&i.Inline, 2, nil, syscall.EPROTO)
			if s := node.Stats(); s.MsgsAlloc != 0 || s.SendCount != before.Stats.SendCount+sent || len(p.again) != 2 {
				t.Errorf("%d messages have not ended, %d left, want %d; %d failed", s.MsgsAlloc, s.SendCount-before.Stats.SendCount, sent, len(p.again))
			}
			after := node.Snapshot()
			if a, b := after.Peers[0], before.Peers[0]; a.Credits != b.Credits || a.QueuedBytes != 0 || after.NIs[0].Credits != before.NIs[0].Credits {
				t.Errorf("credits %d and %d, before %d and %d; %d bytes wait", a.Credits, after.NIs[0].Credits, b.Credits, before.NIs[0].Credits, a.QueuedBytes)
			}
		})
	}
}

// TestPostFair: the handler of the SEND events of one peer sends the next messages to that peer. Other
// peers that wait for credits of the NI get them nevertheless.
func TestPostFair(t *testing.T) {
	spec.Covers(t, "LN-6")
	node, p := newPoster(t, lnet.Config{}, lnd.Tunables{Credits: 1, PeerCredits: 1})
	p.meet(node)
	p.onLeft = func() { post(node, peerA, 2) }
	post(node, peerA, 1)
	node.Send(put(peerB, 3))
	for range 3 {
		if p.leave(); slices.Contains(p.left, 3) {
			return
		}
	}
	t.Errorf("messages %d left, and that to the other peer, which is older than the second one, waits", p.left)
}

// TestPostWantsNothing: a peer whose messages waited for credits of the NI, and then became inline ones,
// no longer counts as a peer that waits.
func TestPostWantsNothing(t *testing.T) {
	node, p := newPoster(t, lnet.Config{}, lnd.Tunables{Credits: 2, PeerCredits: 2})
	p.size = 5
	p.meet(node)
	p.full = true
	for bits := range uint64(2) {
		node.Send(put(peerB, bits+1))
	}
	p.full = false
	for bits := range uint64(5) {
		node.Send(put(peerA, bits+10))
	}
	for p.driver.finalize(nil) {
	}
	if len(p.posted) != 5 {
		t.Fatalf("%d messages were posted, want all that waited", len(p.posted))
	}
	p.leave()
	if n := node.Snapshot().NIs[0].Credits; n != 2 {
		t.Errorf("the idle NI has %d credits, want 2", n)
	}
}

// TestPostQueuedRefused: if the driver takes no inline messages, those that wait for credits go by Send.
func TestPostQueuedRefused(t *testing.T) {
	node, p := newPoster(t, lnet.Config{}, lnd.Tunables{PeerCredits: 2})
	p.meet(node)
	p.full = true
	for bits := range uint64(5) {
		node.Send(put(peerA, bits+1))
	}
	for left := 5; left > 0; left-- {
		if n := len(p.driver.inFlight()); n != min(left, 2) || len(p.posted) > 0 {
			t.Fatalf("%d messages are with the driver, %d posted; %d have not ended", n, len(p.posted), left)
		}
		p.driver.finalize(nil)
	}
}

// TestPostLost: in each class of failures, an inline message that fails ends or is sent again
// just as a message that was given to Send.
func TestPostLost(t *testing.T) {
	resent := 0
	for class := range lnd.NumFailures {
		failure := lnd.Failed(class, syscall.ETIMEDOUT)
		node, p := newPoster(t, lnet.Config{}, lnd.Tunables{})
		p.meet(node)
		post(node, peerA, 1)
		addSecond(t, node) // a second NI, so that the message has another path when it fails
		p.lose(failure)
		reference, q := newPoster(t, lnet.Config{}, lnd.Tunables{})
		q.meet(reference)
		m := put(peerA, 1)
		m.Header.PayloadLength, m.Payload = 4, lnd.Payload{Segments: []lnd.Segment{make([]byte, 4)}, Length: 4}
		reference.Send(m)
		addSecond(t, reference)
		q.driver.finalize(failure)

		err, ended := p.result(1)
		want, other := q.result(1)
		if ended != other || !errors.Is(err, want) {
			t.Errorf("%v: ended %t with %v, but %t with %v when given to Send", class, ended, err, other, want)
		}
		if got, want := node.Stats(), reference.Stats(); got.FailureStats != want.FailureStats || got.Errors != want.Errors {
			t.Errorf("%v: counted %+v, but %+v when given to Send", class, got, want)
		}
		if !ended {
			resent++
		}
	}
	if resent == 0 {
		t.Error("no class of failures is sent again")
	}
}

// TestPostLeavesToSend: Post does not take a message that may have to wait, or that has a choice of
// paths: such a message is left to Send.
func TestPostLeavesToSend(t *testing.T) {
	for name, prepare := range map[string]func(node *lnet.Node, p *poster){
		"unknown peer":    func(*lnet.Node, *poster) {},
		"peer with rails": func(node *lnet.Node, p *poster) { p.meet(node); setRails(node) },
		"discovery": func(node *lnet.Node, p *poster) {
			node.SetDiscoverer(func(nid.NID) {})
			p.meet(node)
		},
		"two NIs": func(node *lnet.Node, p *poster) {
			p.meet(node)
			addSecond(t, node)
		},
	} {
		t.Run(name, func(t *testing.T) {
			node, p := newPoster(t, lnet.Config{}, lnd.Tunables{})
			prepare(node, p)
			if post(node, peerA, 1) {
				t.Error("the message was posted")
			}
		})
	}
}

func addSecond(t *testing.T, node *lnet.Node) {
	t.Helper()
	if _, err := node.AddNI(&driver{id: second}, lnd.Config{Net: tcp}); err != nil {
		t.Fatal(err)
	}
}

func setRails(node *lnet.Node) {
	node.SetPeer(lnet.Peer{
		Primary: peerA, NIs: []wire.NIStatus{{NID: peerA, Status: wire.StatusUp}, {NID: peerB, Status: wire.StatusUp}},
		Flags: lnet.PeerMultiRail | lnet.PeerDiscovered | lnet.PeerNIDsUpToDate,
	})
}
