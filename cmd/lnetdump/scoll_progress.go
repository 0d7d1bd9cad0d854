package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"ulnet/lnd/capture"
	"ulnet/scoll"
	"ulnet/scoll/wire"
)

// collectiveProgress tells a child how much bulk data of a request its parent
// has.
type collectiveProgress struct {
	wire.Progress
	of      *collectiveRequest // nil: not in the capture
	remarks []string
}

// progress reads a message to the portal of requests that is none.
func (c *collectives) progress(r *capture.Record) (capture.Understood, error) {
	p, err := wire.ParseProgress(r.Payload)
	if err != nil {
		if errors.Is(err, wire.ErrHeader) {
			err = fmt.Errorf("%w: progress of %d bytes", err, len(r.Payload))
		}
		return nil, err
	}
	m := &collectiveProgress{Progress: p}
	q, strange := find(c.requests, r.Header.SrcNID, r.Header.DestNID, p.ReplyBits)
	if q == nil {
		return m, nil
	}
	m.of = q
	if strange {
		m.remarks = remark(m.remarks, "the request went to %v", q.dest)
	}
	if p.There > q.Bulk.Length {
		m.remarks = remark(m.remarks, "%d bytes of %d", p.There, q.Bulk.Length)
	}
	return m, nil
}

// what says of which request it is, and how far.
func (p *collectiveProgress) what() string {
	s := fmt.Sprintf("progress of a request that is not in this capture: %d bytes", p.There)
	if p.of != nil {
		s = fmt.Sprintf("progress of %s, %v: %d of %d bytes", p.of.name(), p.of.hop, p.There, p.of.Bulk.Length)
	}
	if p.Status != scoll.OK {
		s += fmt.Sprintf(", and no more come: %v", p.Status)
	}
	return s
}

// Summary implements capture.Understood.
func (p *collectiveProgress) Summary() string {
	return "scoll " + p.what() + signedText(p.Signed) + odd(p.remarks)
}

// Details implements capture.Understood.
func (p *collectiveProgress) Details() []string {
	return append([]string{fmt.Sprintf("%s; version %d, reply bits %#x%s", p.what(), wire.Version, p.ReplyBits, signedText(p.Signed))}, remarkLines(p.remarks)...)
}

// MarshalJSON implements json.Marshaler.
func (p *collectiveProgress) MarshalJSON() ([]byte, error) {
	status := uint16(p.Status)
	e := collectiveEntry{
		Kind: "progress", Flags: flagsOfWord(p.Signed), ReplyBits: hex(p.ReplyBits), There: &p.There, Status: &status, StatusText: p.Status.String(), Remarks: p.remarks,
	}
	if p.of != nil {
		e.identify(p.of)
		e.hop(p.of.hop)
		e.What, e.Total = "bulk data", p.of.Bulk.Length
	}
	return json.Marshal(e)
}
