package dissection

import (
	"encoding/binary"
	"errors"
	"fmt"

	"ulnet/lnd/capture"
	"ulnet/scoll/wire"
)

// collectiveReply is a message that goes up a tree.
type collectiveReply struct {
	wire.ReplyHeader
	to        *collectiveRequest // the request that the reply answers; nil: not in the capture
	hop       hop
	payload   snippet
	evictions *evictionReply // parsed payload of client health; nil: the payload belongs to another service
	carried   []wire.Carried
	missing   []wire.Missing
	remarks   []string
}

// reply parses a message that goes up a tree.
func (c *collectives) reply(r *capture.Record) (capture.Understood, error) {
	h, rest, err := wire.ParseReplyHeader(r.Payload)
	switch {
	case errors.Is(err, wire.ErrVersion):
		le := binary.LittleEndian
		return nil, fmt.Errorf("%w: version %d with a header of %d bytes, known is %d with %d",
			err, le.Uint16(r.Payload[4:]), le.Uint16(r.Payload[6:]), wire.Version, wire.ReplyHeaderSize)
	case errors.Is(err, wire.ErrHeader):
		return nil, fmt.Errorf("%w: flags %v, status %d", err, h.Flags, binary.LittleEndian.Uint32(r.Payload[28:]))
	case err != nil:
		return nil, err
	}
	p := &collectiveReply{ReplyHeader: h, hop: hop{from: -1, to: -1}}
	p.answer(c, r)
	p.payload = snippetOf(rest[:min(uint64(len(rest)), uint64(h.PayloadSize))], uint64(h.PayloadSize))
	follow := uint64(r.Header.PayloadLength) - wire.ReplyHeaderSize
	code := h.CodeSize()
	if want := uint64(h.PayloadSize) + uint64(h.Carried) + uint64(h.Trailer)*wire.TrailerEntrySize + uint64(code); want != follow {
		return p, fmt.Errorf("%w: a payload of %d bytes and a trailer of %d entries, but %d bytes follow the header",
			wire.ErrBody, h.PayloadSize, h.Trailer, follow)
	}
	if !whole(r) {
		return p, capture.ErrPartOfPayload
	}
	p.explain(rest[:h.PayloadSize])
	rest = rest[h.PayloadSize : len(rest)-code]
	if err := p.passedOn(rest[:h.Carried]); err != nil {
		return p, err
	}
	return p, p.trailer(rest[h.Carried:])
}

// passedOn parses the answers of members that a node has forwarded unchanged.
func (p *collectiveReply) passedOn(b []byte) error {
	for len(b) > 0 {
		c, _, rest, err := wire.ParseCarried(b)
		if err != nil {
			return fmt.Errorf("%w: message %d of the answers that are passed on", err, len(p.carried))
		}
		if p.to != nil && c.Rank >= p.to.Nodes {
			p.remark("an answer of rank %d of %d nodes is passed on", c.Rank, p.to.Nodes)
		}
		p.carried, b = append(p.carried, c), rest
	}
	return nil
}

// answer finds the request that p answers.
func (p *collectiveReply) answer(c *collectives, r *capture.Record) {
	q, remarks := c.requestOf(r.Header.DestNID, r.Header.SrcNID, r.Header.Put().MatchBits)
	if p.remarks = remarks; q == nil {
		return
	}
	p.to, p.hop = q, hop{from: q.hop.to, to: q.hop.from, level: q.hop.level}
	if p.Sequence != q.Sequence || p.RootIncarnation != q.RootIncarnation {
		p.remark("these match bits were for sequence %d of incarnation %d", q.Sequence, q.RootIncarnation)
	}
}

func (p *collectiveReply) trailer(b []byte) error {
	for len(b) > 0 {
		e, rest, err := wire.ParseMissing(b)
		if err != nil {
			return fmt.Errorf("%w: entry %d of the trailer", err, len(p.missing))
		}
		if p.to != nil && e.Rank >= p.to.Nodes {
			p.remark("rank %d of %d nodes is missing", e.Rank, p.to.Nodes)
		}
		p.missing, b = append(p.missing, e), rest
	}
	return nil
}

func (p *collectiveReply) remark(format string, args ...any) {
	p.remarks = remark(p.remarks, format, args...)
}

// Summary implements capture.Understood.
func (p *collectiveReply) Summary() string {
	s := fmt.Sprintf("scoll reply to sequence %d, not in this capture: %v", p.Sequence, p.outcome())
	if p.to != nil {
		s = fmt.Sprintf("scoll reply to %s, %v: %s", p.to.name(), p.hop, p.outcome())
	}
	if p.evictions != nil {
		s += ", " + p.evictions.summary()
	} else if p.payload.length > 0 {
		s += ", " + p.payload.String()
	}
	if len(p.carried) > 0 {
		s += fmt.Sprintf(", %d passed on", len(p.carried))
	}
	if p.Trailer > 0 {
		s += fmt.Sprintf(", %d missing", p.Trailer)
	}
	return s + odd(p.remarks)
}

// outcome returns the status, the number of nodes to which it applies, and which part of the child's answer
// this message is.
func (p *collectiveReply) outcome() string {
	s := p.Status.String()
	if p.Flags&wire.ReplyCollective != 0 {
		s += fmt.Sprintf(" (nodes: %d)", p.Nodes)
	}
	if p.Part > 0 || p.Flags&wire.ReplyLast == 0 {
		s += fmt.Sprintf(", part %d", p.Part)
	}
	return s
}

// Details implements capture.Understood.
func (p *collectiveReply) Details() []string {
	lines := []string{fmt.Sprintf("reply, version %d, flags %v, sequence %d, root's incarnation %d, part %d, status %d (%v)",
		wire.Version, p.Flags, p.Sequence, p.RootIncarnation, p.Part, uint16(p.Status), p.Status)}
	if p.to != nil {
		lines = append(lines, fmt.Sprintf("to %s, root %s; %s", p.to.name(), p.to.root(), p.hop.detail()))
	} else {
		lines = append(lines, "to a request that is not in this capture")
	}
	if p.Flags&wire.ReplyCollective != 0 {
		lines = append(lines, fmt.Sprintf("the status is that of the subtree: nodes %d, entities %d", p.Nodes, p.Entities))
	}
	if p.Speaks() {
		lines = append(lines, "the module speaks for the service")
	}
	lines = append(lines, fmt.Sprintf("payload: %v", p.payload))
	if p.evictions != nil {
		lines = append(lines, p.evictions.details()...)
	}
	lines = append(lines, boundedLines(len(p.carried), "passed on: %d more", func(i int) string {
		c := &p.carried[i]
		return fmt.Sprintf("passed on: part %d of the answer of rank %d%s, %d bytes", c.Part, c.Rank, p.of(c.Rank), c.Size)
	})...)
	lines = append(lines, boundedLines(len(p.missing), "missing: %d more", func(i int) string {
		return fmt.Sprintf("missing: %v%s", p.missing[i], p.of(p.missing[i].Rank))
	})...)
	return append(lines, remarkLines(p.remarks)...)
}

// of returns the NID of a rank in parentheses, or "" if the NID is unknown.
func (p *collectiveReply) of(rank uint32) string {
	if n, ok := p.to.nid(rank); ok {
		return fmt.Sprintf(" (%v)", n)
	}
	return ""
}

// MarshalJSON implements json.Marshaler.
func (p *collectiveReply) MarshalJSON() ([]byte, error) {
	o := object{{"kind", "reply"}}
	if p.to != nil {
		q := *p.to
		q.Sequence, q.RootIncarnation = p.Sequence, p.RootIncarnation // the reply has these two numbers itself, and they may differ from those of the request
		o.request(&q)
	} else {
		o.put("sequence", decimal(p.Sequence))
		o.put("root_incarnation", decimal(p.RootIncarnation))
	}
	o.hop(p.hop)
	o.some("flags", p.Flags.String())
	o.put("status", uint16(p.Status))
	o.some("status_text", p.Status.String())
	o.put("part", p.Part)
	o.some("error_nodes", p.Nodes) // number of nodes to which the error applies
	o.some("error_entities", p.Entities)
	var carried, missing []object
	for _, c := range p.carried {
		carried = append(carried, object{{"rank", c.Rank}, {"part", c.Part}, {"last", c.Last}, {"size", c.Size}})
	}
	for _, m := range p.missing {
		missing = append(missing, p.missingObject(m))
	}
	o.some("carried", carried) // answers that the sender has forwarded
	o.some("missing", missing)
	o.some("payload", p.payload.entry())
	if p.evictions != nil {
		o.put("evictions", p.evictions.entry())
	}
	o.some("odd", p.remarks)
	return o.MarshalJSON()
}

func (p *collectiveReply) missingObject(m wire.Missing) object {
	o := object{{"rank", m.Rank}}
	if id := p.of(m.Rank); id != "" {
		o.put("nid", id[2:len(id)-1])
	}
	scope := "node"
	if m.Scope == wire.Subtree {
		scope = "subtree"
	}
	return append(o, objectField{"scope", scope}, objectField{"status", uint16(m.Status)}, objectField{"status_text", m.Status.String()})
}
