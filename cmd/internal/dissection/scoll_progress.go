package dissection

import (
	"errors"
	"fmt"

	"ulnet/lnd/capture"
	"ulnet/scoll"
	"ulnet/scoll/wire"
)

// collectiveProgress tells a child how much of the bulk data of a request its parent has
// received.
type collectiveProgress struct {
	wire.Progress
	of      *collectiveRequest // the request of the bulk data; nil: not in the capture
	remarks []string
}

// progress parses a message about progress, which goes to the portal of requests.
func (c *collectives) progress(r *capture.Record) (capture.Understood, error) {
	p, err := wire.ParseProgress(r.Payload)
	if err != nil {
		if errors.Is(err, wire.ErrHeader) {
			err = fmt.Errorf("%w: progress of %d bytes", err, len(r.Payload))
		}
		return nil, err
	}
	m := &collectiveProgress{Progress: p}
	m.of, m.remarks = c.requestOf(r.Header.SrcNID, r.Header.DestNID, p.ReplyBits)
	if m.of != nil && p.There > m.of.Bulk.Length {
		m.remarks = remark(m.remarks, "%d bytes of %d", p.There, m.of.Bulk.Length)
	}
	return m, nil
}

// what returns a text that names the request and the number of bytes received.
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
	o := object{{"kind", "progress"}}
	o.request(p.of)
	if p.of != nil {
		o.hop(p.of.hop)
	}
	o.signed(p.Signed)
	o.put("reply_bits", hex(p.ReplyBits))
	o.put("status", uint16(p.Status))
	o.some("status_text", p.Status.String())
	if p.of != nil {
		o.put("what", "bulk data")
		o.some("total", p.of.Bulk.Length)
	}
	o.put("there", p.There) // number of bytes that the parent has
	o.some("odd", p.remarks)
	return o.MarshalJSON()
}
