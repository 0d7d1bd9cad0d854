package scoll

import (
	"slices"

	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/scoll/engine"
	"ulnet/scoll/wire"
)

// post is memory that is posted to the network: a buffer for a message of a child's reply, or
// data for children to fetch.
type post struct {
	r        *Request
	child    int
	buf      []byte // the service's buffer
	header   [wire.ReplyHeaderSize]byte
	trailer  []byte // room for the longest trailer, and for carried answers
	segments []portals.Segment
	handler  func(*portals.Event) // the method event as a func value, allocated once

	attached bool // the buffer has been attached; guarded by buffers.mu, like all below
	linked   bool
	handling int // number of events of the buffer that are being handled
	filled   bool
	part     uint32
	entry    portals.MEHandle
}

// reuse returns a post to the pool if it is not in use any more. The caller holds buffers.mu.
func (p *post) reuse() {
	if p.handler == nil || p.r == nil || !p.r.buffers.over || p.linked || p.handling > 0 {
		return
	}
	posts := &p.r.agent.posts
	*p = post{trailer: p.trailer[:0], segments: p.segments[:0], handler: p.handler}
	posts.Put(p)
}

func newPost() any {
	p := new(post)
	p.handler = p.event
	return p
}

// attach posts the buffer for a reply of one child to one broadcast. If the buffer was posted before, attach does
// nothing: it may have a part of the reply, which belongs to the service.
func (p *post) attach(from nid.NID, bits uint64, size, room int) error {
	b := &p.r.buffers
	b.mu.Lock()
	before := p.attached
	p.attached = true
	b.mu.Unlock()
	if before {
		return nil
	}
	p.lay(size, room)
	err := p.link(from, bits)
	if err != nil {
		p.lost()
	}
	return err
}

// lost records that the buffer left the network without a message, so that attach posts it again.
func (p *post) lost() {
	p.r.buffers.mu.Lock()
	defer p.r.buffers.mu.Unlock()
	p.attached = false
}

// again posts the buffer again after a message that the machine ignored, or that was cut off. If that
// fails, the buffer is missing as if the message had used it up.
func (p *post) again(e *engine.Effect) { _ = p.link(e.To, e.Bits) }

// link gives the buffer to the network.
func (p *post) link(from nid.NID, bits uint64) error {
	b, table := &p.r.buffers, p.r.agent.table
	b.mu.Lock()
	p.linked, p.filled = true, false
	b.linked++
	b.mu.Unlock()
	child := portals.Match{ID: nid.ProcessID{NID: from, PID: p.r.agent.pid}, Bits: bits}
	entry, err := table.MEAttach(wire.ReplyPortal, child, portals.Unlink, portals.After)
	if err == nil {
		b.mu.Lock()
		p.entry = entry
		b.mu.Unlock()
		_, err = table.MDAttach(entry, portals.MD{
			Segments: p.segments, Threshold: 1, Options: portals.OpPut | portals.AckDisable | portals.Truncate,
			UserPtr: p, Handler: p.handler,
		}, portals.Unlink)
		if err != nil {
			_ = table.MEUnlink(entry)
		}
	}
	if err != nil {
		p.unlinked()
	}
	return err
}

// lay builds the memory for a reply, once: the header, the service's buffer, and room for size
// entries of a trailer and for room bytes of carried answers.
func (p *post) lay(size, room int) {
	if len(p.segments) > 0 {
		return
	}
	size = wire.TrailerEntrySize*size + room + p.r.agent.signer.CodeSize()
	p.trailer = slices.Grow(p.trailer, size)[:size]
	p.segments = append(p.segments, p.header[:])
	if len(p.buf) > 0 {
		p.segments = append(p.segments, p.buf)
	}
	p.segments = append(p.segments, p.trailer)
}

// event handles the events of a reply buffer.
func (p *post) event(e *portals.Event) {
	r := p.r
	if e.Kind != portals.EventPut {
		p.lost()
		p.unlinked()
		return
	}
	in := engine.Input{Kind: engine.Return, From: e.Source.NID, Bits: e.MatchBits, Broken: e.Err != nil, Token: p}
	if !in.Broken {
		p.read(e, &in)
	}
	p.begin() // before the machine is told, because it may post the buffer again
	r.agent.deliver(in)
	p.end()
}

// read adds to an input the reply that is in the buffer.
func (p *post) read(e *portals.Event, in *engine.Input) {
	in.Data, in.Length, in.Cut = p.header[:min(int(e.MLength), wire.ReplyHeaderSize)], int(e.RLength), e.MLength < e.RLength
	if code := p.r.agent.signer.CodeSize(); !in.Cut && p.isSigned(in.From, in.Bits, in.Length) {
		in.Signed, in.Length = true, in.Length-code
	}
	if h, _, err := wire.ParseReplyHeader(in.Data); err == nil && !in.Cut {
		if in.Cut = int(h.PayloadSize) > len(p.buf); !in.Cut {
			in.Payload = p.buf[:h.PayloadSize]
		}
		body, total := int(h.PayloadSize)+int(h.Carried), in.Length-wire.ReplyHeaderSize
		in.Trailer = p.tail(body, int(h.Trailer)*wire.TrailerEntrySize, total)
		if h.Carried > 0 && body <= total {
			in.Carried = slices.Concat(cut(p.segments[1:], 0, body)...)
		}
		p.r.buffers.mu.Lock()
		p.filled, p.part = true, h.Part
		p.r.buffers.mu.Unlock()
	}
}

// tail returns the trailer, which follows the payload or the carried answers, in the service's
// buffer or behind it. nil: the lengths do not match the message.
func (p *post) tail(body, length, total int) []byte {
	if length == 0 || body+length != total {
		return nil
	}
	if behind := body - len(p.buf); behind >= 0 && behind+length <= len(p.trailer) {
		return p.trailer[behind:][:length]
	}
	return slices.Concat(cut(p.segments[1:], body, length)...)
}

// unlinked records that the network does not use the buffer any more.
func (p *post) unlinked() {
	p.begin()
	p.end()
}

// begin records that a buffer is not posted any more, and that its event is being handled.
func (p *post) begin() {
	b := &p.r.buffers
	b.mu.Lock()
	p.handling++
	b.handling++
	if p.linked {
		p.linked = false
		b.linked--
	}
	b.mu.Unlock()
}

// end records that the event of a buffer has been handled. Afterwards the caller uses neither
// the post nor its request, which may be in use again.
func (p *post) end() {
	r := p.r
	r.tellQuiet()
	r.buffers.mu.Lock()
	p.handling--
	r.buffers.handling--
	p.reuse()
	idle := r.buffers.isIdle()
	r.buffers.mu.Unlock()
	if idle {
		r.release()
	}
}
