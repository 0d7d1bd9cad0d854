package dissection

import (
	"fmt"

	"ulnet/lnd/capture"
	selftestwire "ulnet/lnet/selftest/wire"
	"ulnet/lnet/wire"
)

// selftestBulk is the bulk data of an RPC, in a PUT or in the REPLY to a GET.
type selftestBulk struct {
	of           *selftestRequest // request that names the data; nil: not in the capture
	id           uint64           // match bits of the data
	data         snippet
	destinations []selftestwire.Destination // parsed data of a TEST request
	remarks      []string
}

// selftestFetch is a GET of bulk data.
type selftestFetch struct {
	of      *selftestRequest // request that names the data; nil: not in the capture
	id      uint64           // match bits of the data
	length  uint64           // length that the GET asks for
	remarks []string
}

// bulkData parses a PUT of bulk data.
func bulkData(q *selftestRequest, id uint64, strange bool, r *capture.Record) (capture.Understood, error) {
	d := &selftestBulk{of: q, id: id, data: snippetOf(r.Payload, uint64(r.Header.PayloadLength))}
	if q == nil {
		return d, nil
	}
	d.remarks = q.judgeBulk(wire.Put, d.data.length)
	if strange {
		d.remarks = remark(d.remarks, "the request went to %v", q.dest)
	}
	return d, nil
}

// judgeBulk returns remarks on bulk data that are moved by another type of message, or have another
// length, than the request demands.
func (q *selftestRequest) judgeBulk(by wire.MsgType, length uint64) (remarks []string) {
	want := wire.Get
	if b, ok := q.Body.(*selftestwire.BRW); ok && b.Op == selftestwire.Read {
		want = wire.Put
	}
	if by != want {
		remarks = remark(remarks, "these data belong into a %v", want)
	}
	if _, due, _ := q.bulk(); length != due {
		remarks = remark(remarks, "%d bytes, the request has %d", length, due)
	}
	return remarks
}

// fetch parses a GET of bulk data and remembers it for its REPLY.
func (s *selftests) fetch(r *capture.Record) *selftestFetch {
	get := r.Header.Get()
	f := &selftestFetch{id: get.MatchBits, length: uint64(get.SinkLength)}
	q, strange := find(s.bulks, r.Header.DestNID, r.Header.SrcNID, get.MatchBits)
	if f.of = q; q != nil {
		f.remarks = q.judgeBulk(wire.Get, f.length)
		if strange {
			f.remarks = remark(f.remarks, "the request went to %v", q.dest)
		}
	}
	s.fetches.put(sink{r.Header.SrcNID, get.ReturnMD}, f)
	return f
}

// data parses the REPLY to a fetch.
func (f *selftestFetch) data(r *capture.Record) (capture.Understood, error) {
	d := &selftestBulk{of: f.of, id: f.id, data: snippetOf(r.Payload, uint64(r.Header.PayloadLength))}
	if f.of == nil {
		return d, nil
	}
	t, ok := f.of.Body.(*selftestwire.Test)
	if !ok {
		return d, nil
	}
	if !whole(r) {
		return d, capture.ErrPartOfPayload
	}
	list, err := selftestwire.ParseDestinations(r.Payload, int(t.Destinations), f.of.BigEndian)
	d.destinations = list
	return d, err
}

// bulkOf returns a text that names the request to which bulk data belong.
func bulkOf(q *selftestRequest, id uint64) string {
	switch {
	case q == nil:
		return fmt.Sprintf("bulk data %#x of an RPC that is not in this capture", id)
	case q.Type == selftestwire.TypeTest:
		return "destinations of " + q.name()
	}
	return "bulk data of " + q.name()
}

// Summary implements capture.Understood.
func (f *selftestFetch) Summary() string {
	return fmt.Sprintf("selftest fetches %s, %d bytes", bulkOf(f.of, f.id), f.length) + odd(f.remarks)
}

// Details implements capture.Understood.
func (f *selftestFetch) Details() []string {
	return append([]string{fmt.Sprintf("fetch of %s, bulk %#x", bulkOf(f.of, f.id), f.id)}, remarkLines(f.remarks)...)
}

// MarshalJSON implements json.Marshaler.
func (f *selftestFetch) MarshalJSON() ([]byte, error) {
	o := selftestBulkObject("fetch", f.of, f.id)
	o.some("odd", f.remarks)
	return o.MarshalJSON()
}

// Summary implements capture.Understood.
func (d *selftestBulk) Summary() string {
	s := fmt.Sprintf("selftest %s: %d bytes", bulkOf(d.of, d.id), d.data.length)
	if n := len(d.destinations); n > 0 {
		s = fmt.Sprintf("selftest %s: %d NIDs from %v", bulkOf(d.of, d.id), n, d.destinations[0].NID)
	}
	return s + odd(d.remarks)
}

// Details implements capture.Understood.
func (d *selftestBulk) Details() []string {
	lines := []string{fmt.Sprintf("%s, bulk %#x: %v", bulkOf(d.of, d.id), d.id, d.data)}
	lines = append(lines, boundedLines(len(d.destinations), "destinations: %d more", func(i int) string {
		return fmt.Sprintf("destination %v", d.destinations[i])
	})...)
	return append(lines, remarkLines(d.remarks)...)
}

// MarshalJSON implements json.Marshaler.
func (d *selftestBulk) MarshalJSON() ([]byte, error) {
	o := selftestBulkObject("bulk", d.of, d.id)
	o.some("payload", d.data.entry())
	var list []string
	for _, to := range d.destinations {
		list = append(list, to.String())
	}
	o.some("destinations", list)
	o.some("odd", d.remarks)
	return o.MarshalJSON()
}

// selftestBulkObject returns the JSON of bulk data: their kind, and the RPC that they are of.
func selftestBulkObject(kind string, of *selftestRequest, id uint64) object {
	o := object{{"kind", kind}}
	if of != nil {
		o.put("service", of.Type.String())
		o.put("rpc", hex(of.ReplyID))
	}
	o.put("bulk", hex(id))
	return o
}
