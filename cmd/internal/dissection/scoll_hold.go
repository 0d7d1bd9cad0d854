package dissection

import (
	"errors"
	"fmt"
	"time"

	"ulnet/lnd/capture"
	"ulnet/scoll/wire"
)

// collectiveHold tells the parent that its child holds a request, or no longer does.
type collectiveHold struct {
	wire.Hold
	of      *collectiveRequest // the request that the child holds; nil: not in the capture
	remarks []string
}

// hold parses the message by which a child tells its parent that it holds a request, or no longer does. The
// message goes to the portal of requests.
func (c *collectives) hold(r *capture.Record) (capture.Understood, error) {
	w, err := wire.ParseHold(r.Payload)
	if err != nil {
		if errors.Is(err, wire.ErrHeader) {
			err = fmt.Errorf("%w: word of holding of %d bytes", err, len(r.Payload))
		}
		return nil, err
	}
	m := &collectiveHold{Hold: w}
	m.of, m.remarks = c.requestOf(r.Header.DestNID, r.Header.SrcNID, w.ReplyBits) // the destination is the parent, which has sent the request and posted the match entry; the source is its child
	if m.of != nil && m.of.Hold == 0 {
		m.remarks = remark(m.remarks, "the request did not ask for it")
	}
	return m, nil
}

// what returns a text that names the request, and whether it is held.
func (w *collectiveHold) what() string {
	s := "a request that is not in this capture"
	if w.of != nil {
		s = fmt.Sprintf("%s, %v", w.of.name(), w.of.hop)
	}
	if w.Held {
		return "holding " + s
	}
	return "holding no more " + s
}

// Summary implements capture.Understood.
func (w *collectiveHold) Summary() string {
	return "scoll " + w.what() + signedText(w.Signed) + odd(w.remarks)
}

// Details implements capture.Understood.
func (w *collectiveHold) Details() []string {
	return append([]string{fmt.Sprintf("%s; version %d, word %d, reply bits %#x%s", w.what(), wire.Version, w.Number, w.ReplyBits, signedText(w.Signed))}, remarkLines(w.remarks)...)
}

// MarshalJSON implements json.Marshaler.
func (w *collectiveHold) MarshalJSON() ([]byte, error) {
	o := object{{"kind", "hold"}}
	o.request(w.of)
	if w.of != nil {
		o.hop(w.of.hop)
	}
	o.signed(w.Signed)
	o.put("reply_bits", hex(w.ReplyBits))
	o.put("held", w.Held) // false: the request is not held any more
	o.some("odd", w.remarks)
	return o.MarshalJSON()
}

// holdText returns how long a request may be held, or "" if its sender does not support holding.
func holdText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf("; held for %v at most", d)
}
