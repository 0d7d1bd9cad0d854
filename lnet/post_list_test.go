package lnet_test

import (
	"slices"
	"testing"

	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/machine"
)

// postings makes a list of messages to peerA, with match bits from 1 on.
func postings(n int) (list []lnet.Posting) {
	for bits := range n {
		p := lnet.Posting{Payload: lnd.Payload{Segments: []lnd.Segment{make([]byte, 4)}, Length: 4}}
		p.Header = put(peerA, uint64(bits+1)).Header
		p.Header.PayloadLength = 4
		list = append(list, p)
	}
	return list
}

// TestPostList: a list is posted as far as the credits last, in its order, and is flushed once.
func TestPostList(t *testing.T) {
	node, p := newPoster(t, lnet.Config{}, lnd.Tunables{PeerCredits: 3})
	if n := node.PostList(postings(1)); n != 0 {
		t.Errorf("%d messages to an unknown peer were taken", n)
	}
	p.meet(node)
	list := postings(5)
	if n := node.PostList(list); n != 3 || p.flush != 1 {
		t.Errorf("%d messages were taken, %d calls of Flush", n, p.flush)
	}
	if h := p.posted[2].Header; h.SrcNID != self || p.posted[2].To.NID != peerA {
		t.Errorf("header %+v to %v", h, p.posted[2].To)
	}
	if s := node.Stats(); s.MsgsAlloc != 3 {
		t.Errorf("%d messages in flight", s.MsgsAlloc)
	}
	p.leave()
	if n := node.PostList(list[3:]); n != 2 || p.flush != 2 {
		t.Errorf("%d messages were taken, %d calls of Flush", n, p.flush)
	}
	p.leave()
	if !slices.Equal(p.left, []uint64{1, 2, 3, 4, 5}) {
		t.Errorf("messages %d left", p.left)
	}
	if s := node.Stats(); s.MsgsAlloc != 0 || s.SendCount != 6 {
		t.Errorf("%+v", s)
	}
}

// twoConns is a poster with two connections to a peer.
type twoConns struct {
	*poster
	conns [2]flushes
}

type flushes struct{ n int }

func (f *flushes) Flush() { f.n++ }

func (c *twoConns) Startup(cfg lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	_, err := c.poster.Startup(cfg, up)
	return c, err
}

// Post takes messages with odd match bits on one connection, others on the other one.
func (c *twoConns) Post(i *lnd.Inline, payload lnd.Payload, open bool) (lnd.Flusher, bool) {
	_, taken := c.poster.Post(i, payload, open)
	return &c.conns[i.Header.Put().MatchBits%2], taken
}

// TestPostListFlushesAll: if the messages of a list go to two connections, both are flushed.
func TestPostListFlushesAll(t *testing.T) {
	node := lnet.New(lnet.Config{Incarnation: 7, Clock: machine.RealClock()})
	c := &twoConns{poster: &poster{size: 10, driver: &driver{id: self}, upper: &upper{ended: make(map[uint64]error)}}}
	node.SetUpper(c.poster)
	if _, err := node.AddNI(c, lnd.Config{Net: tcp}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = node.Shutdown(over()) })
	c.meet(node)
	list := postings(4)
	for taken := 0; taken < len(list); {
		n := node.PostList(list[taken:])
		if n == 0 {
			t.Fatal("no message was taken")
		}
		taken += n
	}
	if c.conns[0].n == 0 || c.conns[1].n == 0 {
		t.Errorf("the connections were flushed %d and %d times", c.conns[0].n, c.conns[1].n)
	}
}

// TestPostListRefused: a message that the driver refuses holds no credit and is not in flight.
func TestPostListRefused(t *testing.T) {
	node, p := newPoster(t, lnet.Config{}, lnd.Tunables{PeerCredits: 8, Credits: 8})
	p.meet(node)
	p.full = true
	for range 9 {
		if n := node.PostList(postings(2)); n != 0 || node.Stats().MsgsAlloc != 0 {
			t.Fatalf("%d messages were taken, %d are in flight", n, node.Stats().MsgsAlloc)
		}
	}
	p.full = false
	if n := node.PostList(postings(8)); n != 8 {
		t.Errorf("%d messages were taken afterwards, want 8", n)
	}
	p.leave()
}

// TestPostListShares: the messages of a list that are in one buffer have one credit.
func TestPostListShares(t *testing.T) {
	node, p := newPoster(t, lnet.Config{}, lnd.Tunables{PeerCredits: 2})
	p.size = 3
	p.meet(node)
	for range 2 {
		if n := node.PostList(postings(7)); n != 6 {
			t.Errorf("%d messages were taken, want 6", n)
		}
		p.leave()
	}
}
