package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	"ulnet/lnd/verbs"
)

// These are measurements of the device alone, without the protocol of o2iblnd: SENDs that go
// back and forth between handlers, and RDMA WRITEs that are followed by a SEND.
const (
	verbsPort    = 9870
	verbsSends   = 64 // largest number of work requests that are posted at the same time
	verbsBuffers = 64
	verbsWindow  = window
)

// verbsEnd is the queue pair of one side, with its device and memory.
type verbsEnd struct {
	dev  verbs.Device
	pool verbs.Pool
	qp   verbs.QPConfig
	conn atomic.Pointer[verbs.Conn] // the connection, which is set before the first upcall

	memory []byte
	mr     verbs.MR

	// received is called with each message, and sent is called for each signaled work request.
	received func(message []byte)
	sent     func()
	failed   func(error)

	echo  [1]verbs.SendWR
	piece [1]verbs.SGE
}

func newVerbsEnd(dev verbs.Device) *verbsEnd {
	e := &verbsEnd{dev: dev, memory: make([]byte, bulk)}
	pd, cq := must(dev.NewPD()), must(dev.NewCQ(4*verbsSends, e.completed))
	e.pool = must(pd.NewPool(verbs.PoolConfig{Buffers: verbsBuffers, Size: 4096}))
	e.mr = must(pd.Register([][]byte{e.memory}, verbs.LocalWrite|verbs.RemoteWrite))
	e.qp = verbs.QPConfig{PD: pd, Sends: cq, Recvs: cq, Pool: e.pool, MaxSends: verbsSends}
	return e
}

func (e *verbsEnd) config() verbs.ConnConfig {
	return verbs.ConnConfig{QP: e.qp, RetryCount: 7, RNRRetryCount: 7}
}

// completed is the upcall with which the completion queue reports completions.
func (e *verbsEnd) completed(batch []verbs.Completion) {
	for i := range batch {
		c := &batch[i]
		switch {
		case c.Status != verbs.Success:
			e.failed(c.Status)
		case c.Op == verbs.Receive:
			e.received(c.Buffer.Bytes)
			e.pool.Return(c.Buffer)
		default:
			e.sent()
		}
	}
}

// send posts a SEND of a short message. The device copies the message.
func (e *verbsEnd) send(message []byte) error {
	e.piece[0] = verbs.SGE{Bytes: message}
	e.echo[0] = verbs.SendWR{Op: verbs.Send, Pieces: e.piece[:]}
	return (*e.conn.Load()).PostSend(e.echo[:])
}

// serveVerbs sends each message back. The private data of the connection tells the peer where
// to write.
func serveVerbs(dev verbs.Device) {
	e := newVerbsEnd(dev)
	e.sent, e.failed = func() {}, func(error) {} // if this side fails, the peer notices it by a timeout
	e.received = func(message []byte) {
		if err := e.send(message); err != nil {
			e.failed(err)
		}
	}
	must(dev.Listen(verbsPort, func(r verbs.Request) {
		cfg := e.config()
		f := e.mr.Frags(nil)[0]
		cfg.Private = binary.LittleEndian.AppendUint32(cfg.Private, e.mr.RKey())
		cfg.Private = binary.LittleEndian.AppendUint64(cfg.Private, f.Address)
		if c, err := r.Accept(cfg, func(verbs.Conn, verbs.Event) {}); err == nil {
			e.conn.Store(&c) // conn is set before the first message: the goroutine that runs this function delivers messages only afterwards
		}
	}))
}

// verbsClient is the active side of the measurement.
type verbsClient struct {
	*verbsEnd
	rkey   uint32
	remote verbs.Frag
	done   chan error

	left   int // number of replies that are still expected; only upcalls use it during a run
	writes int // number of WRITEs that are still to be posted; only upcalls use it during a run
	wr     [1]verbs.SendWR
	sge    [1]verbs.SGE
	small  []byte
}

func dialVerbs(ctx context.Context, dev verbs.Device, to netip.Addr) *verbsClient {
	c := &verbsClient{verbsEnd: newVerbsEnd(dev), done: make(chan error, 4), small: make([]byte, smallSize)}
	c.received, c.sent, c.failed = c.replied, c.wrote, c.fail
	conn := must(dev.Connect(netip.AddrPortFrom(to, verbsPort), c.config(), c.event))
	c.conn.Store(&conn)
	succeed(c.await(ctx))
	return c
}

func (c *verbsClient) event(_ verbs.Conn, e verbs.Event) {
	if e.Kind != verbs.Established {
		c.fail(fmt.Errorf("the connection ended: event %d, reason %d: %w", e.Kind, e.Reason, e.Status))
		return
	}
	c.rkey = binary.LittleEndian.Uint32(e.Private)
	c.remote = verbs.Frag{Address: binary.LittleEndian.Uint64(e.Private[4:]), Length: bulk}
	c.done <- nil
}

// fail ends a run with an error.
func (c *verbsClient) fail(err error) {
	select {
	case c.done <- err:
	default: // the error that came first is kept
	}
}

func (c *verbsClient) await(ctx context.Context) error {
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// roundTrips exchanges a message of 8 B n times.
func (c *verbsClient) roundTrips(ctx context.Context, n int) (time.Duration, error) {
	c.left = n
	began := time.Now()
	if err := c.send(c.small); err != nil {
		return 0, err
	}
	err := c.await(ctx)
	return time.Since(began), err
}

func (c *verbsClient) replied([]byte) {
	if c.left--; c.left == 0 {
		c.done <- nil
		return
	}
	if err := c.send(c.small); err != nil {
		c.fail(err)
	}
}

// put writes 1 MiB n times, with at most verbsWindow WRITEs in flight, and waits for the answer
// to the SEND after them.
func (c *verbsClient) put(ctx context.Context, n int) (time.Duration, error) {
	first := make([]verbs.SendWR, min(n, verbsWindow))
	for i := range first {
		first[i] = c.write()
	}
	c.left, c.writes = 1, n-len(first)
	began := time.Now()
	if err := (*c.conn.Load()).PostSend(first); err != nil {
		return 0, err
	}
	if len(first) == n {
		if err := c.send(c.small); err != nil {
			return 0, err
		}
	}
	err := c.await(ctx)
	return time.Since(began), err
}

// write returns a work request to write 1 MiB.
func (c *verbsClient) write() verbs.SendWR {
	c.sge[0] = verbs.SGE{Bytes: c.memory, MR: c.mr}
	return verbs.SendWR{Op: verbs.Write, Pieces: c.sge[:], Signaled: true, Remote: c.remote, RKey: c.rkey}
}

// wrote posts the next work request when a WRITE has been completed.
func (c *verbsClient) wrote() {
	if c.writes == 0 {
		return
	}
	c.writes--
	c.wr[0] = c.write()
	err := (*c.conn.Load()).PostSend(c.wr[:])
	if err == nil && c.writes == 0 {
		err = c.send(c.small)
	}
	if err != nil {
		c.fail(err)
	}
}
