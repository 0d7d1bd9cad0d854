// Package verbstest is the contract of package verbs as tests, which every provider passes: it
// checks with two devices what the comments promise.
package verbstest

import (
	"bytes"
	"net/netip"
	"sync"
	"testing"
	"time"

	"ulnet/lnd/verbs"
)

// Harness has what a provider supplies to the suite.
type Harness struct {
	// Open opens two devices that reach each other. The suite closes them.
	Open func(t testing.TB) [2]verbs.Device
	// Lossy: packets are lost. Then the event of a connection's end may come before the error
	// that caused it.
	Lossy bool
}

// Run runs the suite on the provider of h.
func Run(t *testing.T, h Harness) {
	for _, tt := range []struct {
		name string
		run  func(t *testing.T, s *suite)
	}{
		{"Attr", attr},
		{"Connect", connects},
		{"SmallerMTU", smallerMTU},
		{"Reject", rejects},
		{"NoListener", noListener},
		{"Listen", listens},
		{"Send", sends},
		{"Write", writes},
		{"Order", order},
		{"PostInside", postInside},
		{"PostErrors", postErrors},
		{"KeepBuffers", keepBuffers},
		{"EmptyPool", emptyPool},
		{"WrongRKey", wrongRKey},
		{"Deregister", deregister},
		{"Disconnect", disconnect},
		{"Close", closes},
		{"CloseDevice", closeDevice},
		{"Datagrams", datagrams},
		{"Groups", groupsOfUD},
		{"DatagramErrors", datagramErrors},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, newSuite(t, h)) })
	}
	for _, tt := range []struct {
		name string
		run  func(t *testing.T, s *suite)
	}{
		{"Order", order},
		{"PostInside", postInside},
		{"WrongRKey", wrongRKey},
		{"Disconnect", disconnect},
		{"CloseDevice", closeDevice},
	} {
		t.Run("TwoQueues/"+tt.name, func(t *testing.T) {
			s := newSuite(t, h)
			for _, n := range s.nodes {
				n.twoQueues()
			}
			tt.run(t, s)
		})
	}
}

const (
	port        = 987
	messageSize = 4096
	buffers     = 32
	maxSends    = 16
	patience    = time.Minute
)

// suite has the two nodes of a test.
type suite struct {
	t     *testing.T
	lossy bool
	nodes [2]*node
}

// node is a device and its consumer.
type node struct {
	t      *testing.T
	device verbs.Device
	pd     verbs.PD
	cq     verbs.CQ
	recvs  verbs.CQ // queue for completions of receives; may be cq
	pool   verbs.Pool

	requests chan verbs.Request
	sent     chan verbs.Completion
	received chan verbs.Completion

	mu      sync.Mutex // guards the field inside
	inside  func(c *verbs.Completion)
	closing sync.Once
}

func newSuite(t *testing.T, h Harness) *suite {
	s := &suite{t: t, lossy: h.Lossy}
	for i, d := range h.Open(t) {
		n := &node{
			t: t, device: d, requests: make(chan verbs.Request, 10), sent: make(chan verbs.Completion, 1000),
			received: make(chan verbs.Completion, 1000),
		}
		s.nodes[i] = n
		t.Cleanup(n.close)
		var err error
		if n.pd, err = d.NewPD(); err != nil {
			t.Fatal(err)
		}
		if n.pool, err = n.pd.NewPool(verbs.PoolConfig{Buffers: buffers, Size: messageSize}); err != nil {
			t.Fatal(err)
		}
		if n.cq, err = d.NewCQ(2*maxSends+buffers, n.completed); err != nil {
			t.Fatal(err)
		}
		n.recvs = n.cq
	}
	return s
}

// twoQueues gives receives a completion queue of their own.
func (n *node) twoQueues() {
	var err error
	if n.recvs, err = n.device.NewCQ(2*maxSends+buffers, n.completed); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) close() {
	n.closing.Do(func() {
		if err := n.device.Close(); err != nil {
			n.t.Error(err)
		}
	})
}

func (n *node) completed(batch []verbs.Completion) {
	n.mu.Lock()
	inside := n.inside
	n.mu.Unlock()
	for i := range batch {
		c := batch[i]
		if inside != nil {
			inside(&c)
		}
		if c.Op == verbs.Receive {
			n.received <- c
		} else {
			n.sent <- c
		}
	}
}

func (n *node) config() verbs.ConnConfig {
	return verbs.ConnConfig{
		QP:            verbs.QPConfig{ID: 77, PD: n.pd, Sends: n.cq, Recvs: n.recvs, Pool: n.pool, MaxSends: maxSends},
		RNRRetryCount: 6, RetryCount: 5,
	}
}

// happened is an event of a connection.
type happened struct {
	conn verbs.Conn
	verbs.Event
}

// tell returns a channel of events, and the upcall that fills it.
func tell() (<-chan happened, func(verbs.Conn, verbs.Event)) {
	c := make(chan happened, 10)
	return c, func(conn verbs.Conn, e verbs.Event) {
		e.Private = bytes.Clone(e.Private)
		c <- happened{conn, e}
	}
}

// take receives one value from c, for which it waits no longer than patience.
func take[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case v = <-c:
	case <-timer.C:
		t.Fatal("nothing came")
	}
	return v
}

func (s *suite) to(i int) netip.AddrPort {
	return netip.AddrPortFrom(s.nodes[i].device.Attr().Addr, port)
}

func (s *suite) listen(i int) verbs.Listener {
	s.t.Helper()
	l, err := s.nodes[i].device.Listen(port, func(r verbs.Request) { s.nodes[i].requests <- r })
	if err != nil {
		s.t.Fatal(err)
	}
	return l
}

// connected is both ends of a connection, the active one first.
type connected struct {
	conns  [2]verbs.Conn
	events [2]<-chan happened
}

// connect connects node 0 to node 1.
func (s *suite) connect() connected {
	s.t.Helper()
	l := s.listen(1)
	defer func() {
		if err := l.Close(); err != nil {
			s.t.Error(err)
		}
	}()
	var x connected
	var tells [2]func(verbs.Conn, verbs.Event)
	for i := range tells {
		x.events[i], tells[i] = tell()
	}
	var err error
	if x.conns[0], err = s.nodes[0].device.Connect(s.to(1), s.nodes[0].config(), tells[0]); err != nil {
		s.t.Fatal(err)
	}
	if x.conns[1], err = take(s.t, s.nodes[1].requests).Accept(s.nodes[1].config(), tells[1]); err != nil {
		s.t.Fatal(err)
	}
	for i, c := range x.events {
		if e := take(s.t, c); e.Kind != verbs.Established || e.conn != x.conns[i] {
			s.t.Fatalf("end %d: %+v", i, e)
		}
	}
	return x
}

// message returns a message of n bytes. They depend on id, so that a test can tell messages
// apart.
func message(id uint64, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(uint64(i)*7 + id*13)
	}
	return b
}

func (s *suite) register(i int, access verbs.Access, pieces ...[]byte) verbs.MR {
	s.t.Helper()
	m, err := s.nodes[i].pd.Register(pieces, access)
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

// post posts work requests, which must succeed.
func (s *suite) post(c verbs.Conn, list ...verbs.SendWR) {
	s.t.Helper()
	if err := c.PostSend(list); err != nil {
		s.t.Fatal(err)
	}
}

func copied(id uint64, b []byte) verbs.SendWR {
	return verbs.SendWR{ID: id, Op: verbs.Send, Signaled: true, Pieces: []verbs.SGE{{Bytes: b}}}
}

// arrives checks that the next message is the wanted one.
func (s *suite) arrives(i int, c verbs.Conn, want []byte) {
	s.t.Helper()
	got := take(s.t, s.nodes[i].received)
	if got.ID != 77 || got.QPN != c.QPN() || got.Status != verbs.Success || !bytes.Equal(got.Buffer.Bytes, want) {
		s.t.Fatalf("message of %d bytes, %+v; want %d bytes for %d", len(got.Buffer.Bytes), got.Status, len(want), c.QPN())
	}
	s.nodes[i].pool.Return(got.Buffer)
}

// done checks the completion of one work request.
func (s *suite) done(i int, c verbs.Conn, id uint64, op verbs.Op, status verbs.Status) {
	s.t.Helper()
	got := take(s.t, s.nodes[i].sent)
	if s.lossy && status != verbs.Success && got.Status == verbs.Flushed {
		got.Status = status
	}
	if got.ID != id || got.QPN != c.QPN() || got.Op != op || got.Status != status {
		s.t.Fatalf("%+v, want %d: %v %v", got, id, op, status)
	}
}
