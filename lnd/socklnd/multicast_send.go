package socklnd

import (
	"errors"
	"net/netip"
	"sync"
	"syscall"

	"ulnet/lnd"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// castQueue is the queue of datagrams to send. One goroutine at a time sends them (runs the queue):
// a goroutine that queues a datagram while no other one runs the queue. It also sends the datagrams
// that others queue meanwhile. So datagrams leave in order, and a handler that sends from inside
// Finalize does not recurse.
type castQueue struct {
	mu      sync.Mutex
	queue   lnd.Queue // messages to send; guarded by mu
	running bool      // a goroutine sends the queue; guarded by mu

	// Used only by the goroutine that sends:
	head   [wire.DatagramPrefixSize + wire.LargeHeaderSize]byte
	pieces [][]byte
}

// Multicast implements lnd.Multicaster. The datagram is sent in this goroutine, unless the
// system has no room: then another goroutine waits for room.
func (ni *NI) Multicast(m *lnd.Message) {
	ni.messages.Begin()
	if ni.messages.Closing() {
		ni.finalize(m, newError(ShuttingDown, m.Target, nil))
		return
	}
	s := &ni.cast.sending
	s.mu.Lock()
	s.queue.Push(m)
	runs := s.running
	s.running = true
	s.mu.Unlock()
	if !runs {
		ni.cast.run(false)
	}
}

// next takes the next datagram. If it returns nil the queue is empty, and the caller no longer
// runs it.
func (s *castQueue) next() *lnd.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.queue.Pop()
	s.running = m != nil
	return m
}

// run sends queued datagrams. If wait is set it blocks until the system has room for each.
func (c *casting) run(wait bool) {
	for m := c.sending.next(); m != nil; m = c.sending.next() {
		done, err := c.transmit(m, wait, false)
		if !done {
			if c.later(m) {
				return
			}
			err = newError(ShuttingDown, m.Target, nil)
		}
		c.finish(m, err)
	}
}

// later makes a new goroutine continue with m, for which the socket's send buffer had no room. It returns false, and
// does nothing, if the NI ends.
func (c *casting) later(m *lnd.Message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.ni.peers.Tasks.Go(func() {
		_, err := c.transmit(m, true, true)
		c.finish(m, err)
		c.run(true)
	})
	return true
}

// finish finalizes the datagram m.
func (c *casting) finish(m *lnd.Message, err error) {
	if err == nil {
		c.txMsgs.Add(1)
		c.txBytes.Add(uint64(m.Payload.Length))
	}
	c.ni.finalize(m, err)
}

// transmit sends a datagram; done is false if the send buffer has no room and wait is not set. again says that there was
// no room at an earlier call with m, which has already put it into the capture. Only the goroutine that runs the queue
// calls transmit.
func (c *casting) transmit(m *lnd.Message, wait, again bool) (done bool, err error) {
	ni := c.ni
	switch {
	case !c.base.IsValid():
		return true, newError(BadHeader, m.Target, syscall.EOPNOTSUPP)
	case !m.Group.IsValid() || m.Payload.Length != int(m.Header.PayloadLength):
		return true, newError(BadHeader, m.Target, nil)
	case m.Payload.Length > int(c.limit.Load()):
		ni.counts.count(DatagramTooLong)
		return true, newError(DatagramTooLong, m.Target, nil)
	}
	tx, err := c.writer()
	if err != nil {
		return true, c.failed(m, err)
	}
	s := &c.sending
	head, err := ksock.Datagrams.AppendHeaders(s.head[:0], &m.Header, c.large)
	if err != nil {
		return true, newError(BadHeader, m.Target, err)
	}
	s.pieces = m.Payload.Append(append(s.pieces[:0], head))
	to := netip.AddrPortFrom(c.address(m.Group), ni.cfg.MulticastPort)
	if c.tap != nil && !again {
		c.tap.Datagram(tx.local, to, true, s.pieces)
	}
	done, err = tx.send(to, s.pieces, wait)
	clear(s.pieces)
	return done, c.failed(m, err)
}

// failed translates an error of the operating system about a datagram.
func (c *casting) failed(m *lnd.Message, err error) error {
	switch {
	case err == nil:
		return nil
	case c.hasEnded():
		return newError(ShuttingDown, m.Target, nil)
	case errors.Is(err, syscall.EMSGSIZE):
		c.measure()
		c.ni.counts.count(DatagramTooLong)
		return newError(DatagramTooLong, m.Target, err)
	case isGone(err):
		c.seek()
	}
	c.ni.counts.count(DatagramFailed)
	return newError(DatagramFailed, m.Target, err)
}

func (c *casting) hasEnded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// writer returns the sending socket and opens it if need be.
func (c *casting) writer() (*datagramWriter, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ended:
		return nil, syscall.ESHUTDOWN
	case c.tx != nil:
		return c.tx, nil
	}
	cfg := &c.ni.cfg
	tx, err := newDatagramWriter(c.ni.addr, int(c.index.Load()), cfg.MulticastTTL, cfg.TOS, cfg.TxBufferSize)
	if err == nil {
		c.tx = tx
	}
	return tx, err
}
