package main

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"time"
)

// This is the plain Go TCP program that LNet is compared with. It reads and writes one
// connection with blocking calls. The stream has no framing, except that a request precedes each
// run.

// rawOp is what the server does in a run.
type rawOp uint64

const (
	rawEcho   rawOp = iota // count times, it reads size bytes and writes them back
	rawSink                // it reads size bytes count times, and then writes one byte
	rawSource              // count times, it reads 8 bytes and writes size bytes
)

const requestSize = 24

// serveRaw serves connections until l is closed.
func serveRaw(l net.Listener) {
	acceptAll(l, func(c net.Conn) {
		for serveRun(c) == nil {
		}
	})
}

// acceptAll calls serve with each connection, in a goroutine of its own, and closes the connection afterwards. It
// returns when l is closed.
func acceptAll(l net.Listener, serve func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			serve(c)
		}()
	}
}

func serveRun(c net.Conn) error {
	var request [requestSize]byte
	if _, err := io.ReadFull(c, request[:]); err != nil {
		return err
	}
	op := rawOp(binary.LittleEndian.Uint64(request[0:]))
	buf := make([]byte, binary.LittleEndian.Uint64(request[8:]))
	in, out := buf, buf
	switch op {
	case rawSink:
		out = nil
	case rawSource:
		in = request[:8]
	}
	for range binary.LittleEndian.Uint64(request[16:]) {
		if _, err := io.ReadFull(c, in); err != nil {
			return err
		}
		if out != nil {
			if _, err := c.Write(out); err != nil {
				return err
			}
		}
	}
	if op == rawSink {
		_, err := c.Write([]byte{1})
		return err
	}
	return nil
}

// rawClient sends requests and data to the server over one connection.
type rawClient struct {
	c   net.Conn
	buf []byte
}

func dialRaw(ctx context.Context, addr netip.AddrPort) *rawClient {
	return &rawClient{c: dial(ctx, addr), buf: make([]byte, bulk)}
}

// dial opens a TCP connection, which is closed when ctx ends.
func dial(ctx context.Context, addr netip.AddrPort) net.Conn {
	c := must(new(net.Dialer).DialContext(ctx, "tcp", addr.String()))
	context.AfterFunc(ctx, func() { c.Close() })
	return c
}

func (r *rawClient) close() { r.c.Close() }

func (r *rawClient) request(op rawOp, size, count int) error {
	b := make([]byte, 0, requestSize)
	b = binary.LittleEndian.AppendUint64(b, uint64(op))
	b = binary.LittleEndian.AppendUint64(b, uint64(size))
	b = binary.LittleEndian.AppendUint64(b, uint64(count))
	_, err := r.c.Write(b)
	return err
}

// roundTrips sends and receives size bytes, count times.
func (r *rawClient) roundTrips(size, count int) (time.Duration, error) {
	if err := r.request(rawEcho, size, count); err != nil {
		return 0, err
	}
	buf := r.buf[:size]
	began := time.Now()
	for range count {
		if _, err := r.c.Write(buf); err != nil {
			return 0, err
		}
		if _, err := io.ReadFull(r.c, buf); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// put sends size bytes count times, and waits until the server has read all of them.
func (r *rawClient) put(size, count int) (time.Duration, error) {
	began := time.Now()
	err := r.request(rawSink, size, count)
	for i := 0; i < count && err == nil; i++ {
		_, err = r.c.Write(r.buf[:size])
	}
	if err == nil {
		_, err = io.ReadFull(r.c, r.buf[:1])
	}
	return time.Since(began), err
}

// get requests size bytes count times, with at most window requests in flight.
func (r *rawClient) get(size, count, window int) (time.Duration, error) {
	began := time.Now()
	err := r.request(rawSource, size, count)
	var ask [8]byte
	for i := -window; i < count && err == nil; i++ {
		if i >= 0 {
			_, err = io.ReadFull(r.c, r.buf[:size])
		}
		if i+window < count {
			_, werr := r.c.Write(ask[:])
			err = errors.Join(err, werr)
		}
	}
	return time.Since(began), err
}
