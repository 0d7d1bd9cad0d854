package replay

import (
	"bytes"

	"ulnet/lnd/capture"
)

// Records returns the script with an event for each record instead of each segment, at the time
// of the record's last byte. If the bytes of a side on a connection are not valid records, the
// events of that side there remain segments.
func (s *Script) Records() *Script {
	framed := &Script{Conns: s.Conns}
	streams := make([][2]*stream, len(s.Conns))
	for conn := range streams {
		for side := range streams[conn] {
			if s.hasRecords(conn, Side(side)) {
				streams[conn][side] = &stream{framer: Framer{Side: Side(side)}}
			}
		}
	}
	for _, e := range s.Events {
		if st := streams[e.Conn][e.From]; e.Kind == Data && st != nil {
			framed.Events = append(framed.Events, st.take(e)...)
			continue
		}
		framed.Events = append(framed.Events, e)
	}
	return framed
}

// hasRecords reports whether all bytes that a side sends are records.
func (s *Script) hasRecords(conn int, side Side) bool {
	st := &stream{framer: Framer{Side: side}}
	for _, e := range s.Events {
		if e.Conn == conn && e.From == side && e.Kind == Data {
			st.take(e)
		}
	}
	return st.err == nil && len(st.rest) == 0
}

// stream splits the bytes that one side sends into records.
type stream struct {
	framer Framer
	rest   []byte // the beginning of an incomplete record
	err    error
}

// take returns an event for each record that ends in a segment.
func (st *stream) take(segment Event) (records []Event) {
	st.rest = append(st.rest, segment.Data...)
	for len(st.rest) > 0 && st.err == nil {
		var n int
		if n, st.err = st.framer.Size(st.rest); st.err != nil || n > len(st.rest) {
			break
		}
		e := segment
		e.Data = bytes.Clone(st.rest[:n])
		if e.Record, st.err = st.framer.Next(e.Data); st.err == nil && !encodes(e.Record) {
			st.err = capture.ErrCut
		}
		st.rest = st.rest[n:]
		records = append(records, e)
	}
	return records
}

// encodes reports whether encoding a record again gives the same bytes.
func encodes(r *capture.Record) bool {
	b, err := r.AppendBinary(nil)
	return err == nil && bytes.Equal(b, r.Raw)
}
