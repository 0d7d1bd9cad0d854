package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"ulnet/lnd/capture"
	"ulnet/scoll/wire"
)

// collectiveReply is a message up a tree.
type collectiveReply struct {
	wire.ReplyHeader
	to        *collectiveRequest // nil: not in the capture
	hop       hop
	payload   snippet
	evictions *evictionReply // if it is client health's; nil: another service's
	carried   []wire.Carried
	missing   []wire.Missing
	remarks   []string
}

// reply reads a message up a tree.
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

// passedOn reads the answers that a module carries.
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

// answer finds what a reply answers.
func (p *collectiveReply) answer(c *collectives, r *capture.Record) {
	q, strange := find(c.requests, r.Header.DestNID, r.Header.SrcNID, r.Header.Put().MatchBits)
	if q == nil {
		return
	}
	p.to, p.hop = q, hop{from: q.hop.to, to: q.hop.from, level: q.hop.level}
	if strange {
		p.remark("the request went to %v", q.dest)
	}
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

// outcome is the status, whom it speaks for, and the part.
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

// maxMissingLines bounds the trailer in the details.
const maxMissingLines = 64

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
	for i, c := range p.carried {
		if i == maxMissingLines {
			lines = append(lines, fmt.Sprintf("passed on: %d more", len(p.carried)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("passed on: part %d of the answer of rank %d%s, %d bytes", c.Part, c.Rank, p.of(c.Rank), c.Size))
	}
	for i, e := range p.missing {
		if i == maxMissingLines {
			lines = append(lines, fmt.Sprintf("missing: %d more", len(p.missing)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("missing: %v%s", e, p.of(e.Rank)))
	}
	return append(lines, remarkLines(p.remarks)...)
}

// of names a rank, if that is known.
func (p *collectiveReply) of(rank uint32) string {
	if p.to == nil || p.to.members == nil || int(rank) >= p.to.members.Len() {
		return ""
	}
	return fmt.Sprintf(" (%v)", p.to.members.NID(int(rank)))
}

// MarshalJSON implements json.Marshaler.
func (p *collectiveReply) MarshalJSON() ([]byte, error) {
	status := uint16(p.Status)
	e := collectiveEntry{
		Kind: "reply", Flags: p.Flags.String(), Status: &status, StatusText: p.Status.String(), Part: &p.Part,
		ErrorNodes: p.Nodes, ErrorEntities: p.Entities, Payload: p.payload.entry(), Remarks: p.remarks,
	}
	if p.to != nil {
		e.identify(p.to)
	}
	if p.evictions != nil {
		e.Evictions = p.evictions.entry()
	}
	e.hop(p.hop)
	e.Sequence, e.Incarnation = strconv.FormatUint(p.Sequence, 10), strconv.FormatUint(p.RootIncarnation, 10)
	for _, c := range p.carried {
		e.Carried = append(e.Carried, carriedEntry{c.Rank, c.Part, c.Last, c.Size})
	}
	for _, m := range p.missing {
		entry := missingEntry{Rank: m.Rank, Status: uint16(m.Status), Text: m.Status.String(), Scope: "node"}
		if m.Scope == wire.Subtree {
			entry.Scope = "subtree"
		}
		if id := p.of(m.Rank); id != "" {
			entry.NID = id[2 : len(id)-1]
		}
		e.Missing = append(e.Missing, entry)
	}
	return json.Marshal(e)
}

type carriedEntry struct {
	Rank uint32 `json:"rank"`
	Part uint8  `json:"part"`
	Last bool   `json:"last"`
	Size uint32 `json:"size"`
}

type missingEntry struct {
	Rank   uint32 `json:"rank"`
	NID    string `json:"nid,omitempty"`
	Scope  string `json:"scope"` // node, subtree
	Status uint16 `json:"status"`
	Text   string `json:"status_text"`
}
