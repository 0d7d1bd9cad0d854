package capture

import (
	"net/netip"
	"sync"
	"sync/atomic"

	"ulnet/lnd"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// maxHandshake is an upper bound for the size of a request to an acceptor and a HELLO, in bytes.
const maxHandshake = wire.AcceptorV2Size + ksock.HelloV4Size + 4*ksock.MaxAddresses

// tapFlow is one connection of a driver.
type tapFlow struct {
	w     *Writer
	id    uint64
	key   tuple
	ends  [2]netip.AddrPort // addresses of both ends, as captures show them
	local Side

	halves [2]tapHalf

	mu    sync.Mutex // guards the fields below, and parts of both halves
	ended bool
}

// tapHalf is what one side of a connection has sent. After the handshake only the field bytes
// changes, so no lock is needed while no capture records the connection.
type tapHalf struct {
	bytes atomic.Uint64
	over  atomic.Bool // whether the handshake is over: state is not handshakeOpen

	// Guarded by tapFlow.mu:
	head  []byte // bytes of this side's handshake, kept after its end
	state handshake
	half  half // the parser that finds where messages of this side begin
}

// handshake is the state of the handshake of one side.
type handshake uint8

const (
	handshakeOpen handshake = iota // the handshake goes on; head has all bytes so far
	handshakeDone                  // the handshake is complete, and head has all of it
	handshakeBad                   // the bytes were no valid handshake; head is empty
)

var _ lnd.Flow = (*tapFlow)(nil)

// Sent records bytes that this end has sent (lnd.Flow).
func (f *tapFlow) Sent(b []byte) { f.data(f.local, b) }

// Received records bytes that the other end has sent (lnd.Flow).
func (f *tapFlow) Received(b []byte) { f.data(f.local.Other(), b) }

// Close records the end of the connection (lnd.Flow).
func (f *tapFlow) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.ended {
		return
	}
	f.ended = true
	if w.flows[f.key] == f {
		delete(w.flows, f.key)
	}
	at := w.now()
	for _, r := range w.recorders {
		r.close(f, at)
	}
}

func (f *tapFlow) data(side Side, b []byte) {
	if len(b) == 0 {
		return
	}
	h := &f.halves[side]
	over := h.over.Load()
	if over {
		// Count the bytes before reading sinks. attach raises sinks before it reads the count. So at
		// least one of the two sees what the other has done.
		h.bytes.Add(uint64(len(b)))
		if f.w.sinks.Load() == 0 {
			return
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.w.sinks.Load() > 0 && !f.ended {
		f.record(side, b)
	}
	if !over {
		h.bytes.Add(uint64(len(b)))
		h.track(side, b)
	}
}

func (f *tapFlow) record(side Side, b []byte) {
	w := f.w
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.now()
	for _, r := range w.recorders {
		r.data(f, side, b, at)
	}
}

// track keeps b as long as it belongs to the handshake.
func (h *tapHalf) track(side Side, b []byte) {
	if h.state != handshakeOpen {
		return
	}
	h.head = append(h.head, b[:min(len(b), maxHandshake-len(h.head))]...)
	n, err := handshakeSize(side, h.head)
	switch {
	case err != nil:
		h.state, h.head = handshakeBad, nil
		h.over.Store(true)
	case n <= len(h.head):
		h.state, h.head = handshakeDone, h.head[:n:n]
		h.learn(side)
		h.over.Store(true)
	}
}

// learn keeps what the HELLO says about the messages that follow it.
func (h *tapHalf) learn(side Side) {
	hello := h.head
	if side == Initiator {
		n, _ := wire.AcceptorRequestSize(hello) // the request is complete, so there is no error
		hello = hello[n:]
	}
	p, _ := ksock.ParsePrefix(hello)
	h.half = half{version: p.Version, bigEndian: p.BigEndian}
}

// handshakeSize returns how long the handshake of a side is, as far as its
// first bytes tell.
func handshakeSize(side Side, b []byte) (int, error) {
	request := 0
	if side == Initiator {
		n, err := wire.AcceptorRequestSize(b)
		if err != nil || len(b) < n {
			return n, err
		}
		request = n
	}
	n, err := ksock.NextSize(b[request:])
	return request + n, err
}

// replay returns the handshake of one side, for a recorder that starts in the middle of a
// connection, and whether the side has sent nothing else.
func (h *tapHalf) replay() (head []byte, all bool) {
	return h.head, h.bytes.Load() == uint64(len(h.head))
}

// beginsMessage reports whether a run of bytes begins with a message.
func (h *tapHalf) beginsMessage(b []byte) bool {
	if h.state != handshakeDone {
		return false
	}
	v, _ := h.half.candidate(b, true)
	return v != 0
}
