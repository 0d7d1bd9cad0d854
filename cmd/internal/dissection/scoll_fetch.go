package dissection

import (
	"fmt"

	"ulnet/lnd/capture"
	"ulnet/lnet/wire"
	scollwire "ulnet/scoll/wire"
)

// collectiveFetch is a GET of bulk data, or of a list of members.
type collectiveFetch struct {
	*exposure // the data that is fetched; if the request is not in the capture, exposure.of is nil
	wire.GetCmd
	remarks []string
}

func (e *exposure) what() string {
	if e.list {
		return "list of members"
	}
	return "bulk data"
}

// fetch parses a GET, and remembers it for its REPLY.
func (c *collectives) fetch(r *capture.Record) *collectiveFetch {
	f := &collectiveFetch{GetCmd: r.Header.Get(), exposure: new(exposure)}
	if e, strange := find(c.exposed, r.Header.DestNID, r.Header.SrcNID, f.MatchBits); e != nil {
		f.exposure = e
		if end := uint64(f.SrcOffset) + uint64(f.SinkLength); end > f.Length {
			f.remarks = remark(f.remarks, "it ends at byte %d of %d", end, f.Length)
		}
		if strange {
			f.remarks = remark(f.remarks, "the request went to %v", f.of.dest)
		}
	}
	c.fetches.put(sink{r.Header.SrcNID, f.ReturnMD}, f)
	return f
}

// part describes a range of length bytes of the data, beginning at the offset of the GET.
func (f *collectiveFetch) part(length uint32) string {
	if f.of == nil {
		return "data of a request that is not in this capture"
	}
	s := fmt.Sprintf("%s of %s", f.what(), f.of.name())
	if f.SrcOffset > 0 || uint64(length) != f.Length {
		s += fmt.Sprintf(", %d bytes from %d of %d", length, f.SrcOffset, f.Length)
	}
	return s
}

// Summary implements capture.Understood.
func (f *collectiveFetch) Summary() string {
	return "scoll fetches " + f.part(f.SinkLength) + odd(f.remarks)
}

// Details implements capture.Understood.
func (f *collectiveFetch) Details() []string {
	return append([]string{"fetch of " + f.part(f.SinkLength)}, remarkLines(f.remarks)...)
}

// MarshalJSON implements json.Marshaler.
func (f *collectiveFetch) MarshalJSON() ([]byte, error) {
	o := f.entry("fetch")
	o.some("odd", f.remarks)
	return o.MarshalJSON()
}

func (f *collectiveFetch) entry(kind string) object {
	o := object{{"kind", kind}}
	if f.of != nil {
		o.request(f.of)
		o.put("what", f.what())
		o.put("offset", f.SrcOffset)
		o.some("total", f.Length)
	}
	return o
}

// collectiveData is the REPLY to a fetch.
type collectiveData struct {
	*collectiveFetch
	data snippet
}

// data parses a REPLY. A complete list of members is remembered, because it gives the ranks for
// other messages.
func (c *collectives) data(r *capture.Record, f *collectiveFetch) (capture.Understood, error) {
	d := &collectiveData{f, snippetOf(r.Payload, uint64(r.Header.PayloadLength))}
	if f.of == nil || !f.list || f.SrcOffset > 0 || uint64(r.Header.PayloadLength) != f.Length || !whole(r) {
		return d, nil
	}
	list, err := scollwire.ParseMembership(r.Payload)
	if err == nil {
		err = c.take(f.of, list)
	}
	if err == nil && f.of.located == nil {
		f.of.locate(c) // sets the hop (ranks of sender and receiver) of the request; the hop of its reply is the reverse of it
	}
	return d, err
}

// Summary implements capture.Understood.
func (d *collectiveData) Summary() string {
	return fmt.Sprintf("scoll %s: %v", d.part(uint32(d.data.length)), d.data)
}

// Details implements capture.Understood.
func (d *collectiveData) Details() []string {
	return []string{d.part(uint32(d.data.length)), fmt.Sprintf("payload: %v", d.data)}
}

// MarshalJSON implements json.Marshaler.
func (d *collectiveData) MarshalJSON() ([]byte, error) {
	o := d.entry("data")
	o.some("payload", d.data.entry())
	return o.MarshalJSON()
}
