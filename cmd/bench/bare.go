package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"
)

// The bare loop is the least that a Go program has to do to move LNet's messages over TCP: for
// each one a header of 72 bytes is encoded and parsed, the destination is compared, memory is
// found by portal and match bits, the payload is copied, and an event is delivered. It reads and
// writes through buffers of 64 KiB, and flushes the write buffer when the read buffer is empty.
// It has no credits, locks, time-outs, health, or second peer. Goal G-FLOOR compares it
// with plain TCP, and other goals bound LNet's rates and latencies by multiples of it.

// The header of a message of the bare loop has the fields and the size of struct lnet_hdr for a
// PUT or an ACK.
const (
	bareHeader = 72
	bareBuffer = 64 << 10
	barePut    = 1
	bareAck    = 2
	bareNoAck  = ^uint64(0) // cookie of a PUT whose sender wants no ACK
	bareHere   = 0x0002_0000_7f00_0002
)

// bareKey selects the memory that a message goes to.
type bareKey struct {
	portal uint32
	bits   uint64
}

// bareMessage describes a message for the handler.
type bareMessage struct {
	kind   uint32
	from   uint64
	cookie uint64
	bareKey
	data []byte
}

// bareConn is one side of the bare loop.
type bareConn struct {
	c       net.Conn
	r       *bufio.Reader
	w       *bufio.Writer
	memory  map[bareKey][]byte
	handler func(*bareMessage) error
	event   bareMessage
}

func newBareConn(c net.Conn, portal uint32) *bareConn {
	b := &bareConn{c: c, r: bufio.NewReaderSize(c, bareBuffer), w: bufio.NewWriterSize(c, bareBuffer), memory: map[bareKey][]byte{}}
	for i, size := range sizes {
		b.memory[bareKey{portal, uint64(i)}] = make([]byte, size.bytes)
	}
	b.memory[bareKey{portalSink, 0}] = make([]byte, smallSize)
	return b
}

// send appends a message to the write buffer.
func (b *bareConn) send(kind uint32, key bareKey, cookie uint64, payload []byte) error {
	h := b.w.AvailableBuffer()
	h = binary.LittleEndian.AppendUint64(h, bareHere)
	h = binary.LittleEndian.AppendUint64(h, bareHere)
	h = binary.LittleEndian.AppendUint32(h, 12345)
	h = binary.LittleEndian.AppendUint32(h, 12345)
	h = binary.LittleEndian.AppendUint32(h, kind)
	h = binary.LittleEndian.AppendUint32(h, uint32(len(payload)))
	h = binary.LittleEndian.AppendUint64(h, cookie)
	h = binary.LittleEndian.AppendUint64(h, cookie)
	h = binary.LittleEndian.AppendUint64(h, key.bits)
	h = binary.LittleEndian.AppendUint64(h, 0) // the field "header data", which is not used
	h = binary.LittleEndian.AppendUint32(h, key.portal)
	h = binary.LittleEndian.AppendUint32(h, 0) // the field "offset": the PUT writes at the beginning of the memory
	if _, err := b.w.Write(h); err != nil {
		return err
	}
	_, err := b.w.Write(payload)
	return err
}

// receive waits for a message, copies its payload to the memory that the message selects, and
// calls the handler.
func (b *bareConn) receive() error {
	h, err := b.r.Peek(bareHeader)
	if err != nil {
		return err
	}
	dest, length := binary.LittleEndian.Uint64(h), binary.LittleEndian.Uint32(h[28:])
	e := &b.event
	e.from, e.kind, e.cookie = binary.LittleEndian.Uint64(h[8:]), binary.LittleEndian.Uint32(h[24:]), binary.LittleEndian.Uint64(h[32:])
	e.bits, e.portal = binary.LittleEndian.Uint64(h[48:]), binary.LittleEndian.Uint32(h[64:])
	if dest != bareHere {
		return fmt.Errorf("a message for %#x", dest)
	}
	if _, err := b.r.Discard(bareHeader); err != nil {
		return err
	}
	e.data = nil
	if e.kind == barePut {
		memory, ok := b.memory[e.bareKey]
		if !ok || int(length) > len(memory) {
			return fmt.Errorf("no memory for %d bytes at portal %d, bits %#x", length, e.portal, e.bits)
		}
		e.data = memory[:length]
		if _, err := io.ReadFull(b.r, e.data); err != nil {
			return err
		}
	}
	if err := b.handler(e); err != nil || b.r.Buffered() >= bareHeader {
		return err
	}
	return b.w.Flush()
}

// serveBare serves the connections of l until l is closed.
func serveBare(l net.Listener) {
	acceptAll(l, func(c net.Conn) {
		b := newBareConn(c, portalEcho)
		b.handler = b.serve
		for b.receive() == nil {
		}
	})
}

// serve is the handler of the server: it answers a PUT at portalEcho with a PUT, and
// acknowledges a PUT at another portal if the sender wants that.
func (b *bareConn) serve(e *bareMessage) error {
	if e.portal == portalEcho {
		return b.send(barePut, bareKey{portalReply, e.bits}, bareNoAck, e.data)
	}
	if e.cookie != bareNoAck {
		return b.send(bareAck, bareKey{}, e.cookie, nil)
	}
	return nil
}

// bareClient sends requests over a plain TCP connection, without LNet, and measures how long the answers take.
type bareClient struct{ *bareConn }

func dialBare(ctx context.Context, addr netip.AddrPort) *bareClient {
	return &bareClient{newBareConn(dial(ctx, addr), portalReply)}
}

func (b *bareClient) close() { b.c.Close() }

// roundTrips does this count times: it sends a PUT of sizes[size] bytes, and waits for the PUT
// that answers it.
func (b *bareClient) roundTrips(size, count int) (time.Duration, error) {
	payload := make([]byte, sizes[size].bytes)
	b.handler = func(*bareMessage) error { return nil }
	began := time.Now()
	for range count {
		err := b.send(barePut, bareKey{portalEcho, uint64(size)}, bareNoAck, payload)
		if err = errors.Join(err, b.w.Flush()); err != nil {
			return 0, err
		}
		if err := b.receive(); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// flood sends count PUTs of 8 bytes, and waits for the ACK of the last one.
func (b *bareClient) flood(count int) (time.Duration, error) {
	payload := make([]byte, smallSize)
	acked := false
	b.handler = func(e *bareMessage) error { acked = e.kind == bareAck; return nil }
	began := time.Now()
	for i := range count {
		cookie := bareNoAck
		if i == count-1 {
			cookie = 1
		}
		if err := b.send(barePut, bareKey{portal: portalSink}, cookie, payload); err != nil {
			return 0, err
		}
	}
	if err := b.w.Flush(); err != nil {
		return 0, err
	}
	for !acked {
		if err := b.receive(); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}
