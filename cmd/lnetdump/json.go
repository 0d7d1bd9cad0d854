package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"ulnet/lnd/capture"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// entry is a record as a JSON object. Absent fields are omitted; 64-bit
// numbers that are not counts are strings, because JSON readers round them.
type entry struct {
	File       string `json:"file,omitempty"` // of several
	Time       string `json:"time"`
	Src        string `json:"src"`
	Dst        string `json:"dst"`
	SrcNID     string `json:"src_nid,omitempty"`
	DestNID    string `json:"dest_nid,omitempty"`
	Type       string `json:"type,omitempty"`
	Event      string `json:"event,omitempty"` // for what is no message
	Frame      uint64 `json:"frame,omitempty"`
	Connection int    `json:"connection"` // 0: of none
	Multicast  bool   `json:"multicast,omitempty"`
	Offset     uint64 `json:"offset"`
	Length     uint64 `json:"length"`
	Version    uint32 `json:"version,omitempty"`    // of the request, or of socklnd
	ByteOrder  string `json:"byte_order,omitempty"` // be; le is left out
	Refusal    bool   `json:"refusal,omitempty"`

	SrcPID        *uint32 `json:"src_pid,omitempty"`
	DestPID       *uint32 `json:"dest_pid,omitempty"`
	PayloadLength *uint32 `json:"payload_length,omitempty"`
	Portal        *uint32 `json:"portal,omitempty"`
	MatchBits     string  `json:"match_bits,omitempty"`
	HdrData       string  `json:"hdr_data,omitempty"`
	TargetOffset  *uint32 `json:"target_offset,omitempty"`
	SinkLength    *uint32 `json:"sink_length,omitempty"`
	MLength       *uint32 `json:"mlength,omitempty"`
	AckMD         string  `json:"ack_wmd,omitempty"`    // of a PUT that wants an ACK
	ReturnMD      string  `json:"return_wmd,omitempty"` // of a GET
	DstMD         string  `json:"dst_wmd,omitempty"`    // that an ACK or REPLY goes to
	Missing       uint32  `json:"missing,omitempty"`

	Cookies  []uint64 `json:"cookies,omitempty"`
	Checksum string   `json:"checksum,omitempty"` // good, bad, unchecked

	ConnType        string `json:"conn_type,omitempty"`
	SrcIncarnation  string `json:"src_incarnation,omitempty"`
	DestIncarnation string `json:"dest_incarnation,omitempty"`

	Ping *pingEntry `json:"ping_info,omitempty"`

	RoCE *roceEntry `json:"roce,omitempty"`

	Protocol     string             `json:"protocol,omitempty"`      // whose portal it is
	Message      capture.Understood `json:"message,omitempty"`       // what that says
	MessageError string             `json:"message_error,omitempty"` // what is wrong with it

	Error string `json:"error,omitempty"`
}

type pingEntry struct {
	Features string    `json:"features"`
	PID      uint32    `json:"pid"`
	Sequence uint32    `json:"sequence"`
	NIs      []niEntry `json:"nis"`
}

type niEntry struct {
	NID    string `json:"nid"`
	Status string `json:"status"`
}

// jsonPrinter prints a line for each record; those of connections that begin
// and end only if verbose.
type jsonPrinter struct {
	encoder *json.Encoder
	verbose bool
	file    string
}

func newJSONPrinter(w io.Writer, verbose bool) *jsonPrinter {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return &jsonPrinter{encoder: e, verbose: verbose}
}

func (p *jsonPrinter) begin(file string) { p.file = file }

func (p *jsonPrinter) record(r *shown) {
	if !p.verbose && (r.Kind == capture.Opened || r.Kind == capture.Closed || quiet(r.Record)) {
		return
	}
	e := entryOf(r)
	e.File = p.file
	_ = p.encoder.Encode(e) // a failing writer fails again when it is flushed
}

func entryOf(r *shown) *entry {
	e := &entry{
		Time: r.Time.UTC().Format(fullTime), Src: r.Src().String(), Dst: r.Dst().String(),
		Type: r.Type(), Frame: r.Frame, Connection: r.Conn.ID, Offset: r.Offset, Length: r.Length,
	}
	if e.Type == "" {
		e.Event = eventNames[r.Kind]
	}
	if r.Conn.Version != 0 {
		e.Version = uint32(r.Conn.Version)
	}
	if r.Err != nil {
		e.Error = r.Err.Error()
	}
	if r.RoCE != nil {
		e.roce(r)
		return e
	}
	switch r.Kind {
	case capture.Request, capture.Refusal:
		e.acceptor(r.Record)
	case capture.Hello:
		e.hello(&r.Hello)
	case capture.Noop:
		e.ksock(r.Record)
	case capture.Message:
		if r.Framed {
			e.ksock(r.Record)
		}
		e.Multicast = r.Datagram
		e.message(r)
	}
	return e
}

// eventNames are the events of records that are no messages.
var eventNames = map[capture.Kind]string{
	capture.Opened: "opened", capture.Closed: "closed", capture.Unknown: "unknown",
	capture.Lost: "lost", capture.MidStream: "mid-stream", capture.RocePacket: "packet",
}

func (e *entry) acceptor(r *capture.Record) {
	e.Version = r.Request.Version
	e.ByteOrder = byteOrder(r.Request.BigEndian)
	if e.Refusal = r.Kind == capture.Refusal; !e.Refusal {
		e.DestNID = r.Request.NID.String()
	}
}

func (e *entry) hello(h *ksock.Hello) {
	e.Version, e.ByteOrder = uint32(h.Version), byteOrder(h.BigEndian)
	if !h.Version.IsValid() {
		return
	}
	e.SrcNID, e.SrcPID = h.SrcNID.String(), pid(h.SrcPID)
	e.SrcIncarnation = strconv.FormatUint(h.SrcIncarnation, 10)
	e.DestPID = pid(h.DstPID)
	if h.Version != ksock.V1 {
		e.DestNID = h.DstNID.String()
		e.DestIncarnation = strconv.FormatUint(h.DstIncarnation, 10)
	}
	e.ConnType = h.ConnType.String()
}

func (e *entry) ksock(r *capture.Record) {
	e.ByteOrder = byteOrder(r.Ksock.BigEndian)
	if r.Ksock.Cookies != [2]uint64{} {
		e.Cookies = r.Ksock.Cookies[:]
	}
	e.Checksum = checksumNames[r.Checksum]
}

var checksumNames = map[capture.ChecksumState]string{
	capture.ChecksumGood: "good", capture.ChecksumBad: "bad", capture.ChecksumUnchecked: "unchecked",
}

func (e *entry) message(r *shown) {
	h := &r.Header
	e.SrcNID, e.DestNID = h.SrcNID.String(), h.DestNID.String()
	e.SrcPID, e.DestPID = pid(h.SrcPID), pid(h.DestPID)
	e.PayloadLength = &h.PayloadLength
	e.Missing = r.Missing
	switch h.Type {
	case wire.Ack:
		c := h.Ack()
		e.DstMD, e.MatchBits, e.MLength = c.DstMD.String(), hex(c.MatchBits), &c.MLength
	case wire.Put:
		c := h.Put()
		e.Portal, e.MatchBits, e.HdrData, e.TargetOffset = &c.Portal, hex(c.MatchBits), hex(c.HdrData), &c.Offset
		if !c.AckMD.IsNone() {
			e.AckMD = c.AckMD.String()
		}
	case wire.Get:
		c := h.Get()
		e.Portal, e.MatchBits, e.ReturnMD = &c.Portal, hex(c.MatchBits), c.ReturnMD.String()
		e.TargetOffset, e.SinkLength = &c.SrcOffset, &c.SinkLength
	case wire.Reply:
		e.DstMD = h.Reply().DstMD.String()
	}
	e.Protocol, e.Message = r.said.Protocol, r.said.Is
	if r.said.Err != nil {
		e.MessageError = r.said.Err.Error()
	}
	if p, ok := r.PingInfo(); ok {
		e.Ping = &pingEntry{Features: fmt.Sprintf("%#x", uint32(p.Features)), PID: uint32(p.PID), Sequence: p.Sequence, NIs: []niEntry{}}
		for _, ni := range p.NIs {
			e.Ping.NIs = append(e.Ping.NIs, niEntry{ni.NID.String(), ni.Status.String()})
		}
	}
}

func pid(p nid.PID) *uint32 {
	v := uint32(p)
	return &v
}

func hex(v uint64) string { return fmt.Sprintf("%#x", v) }

func byteOrder(bigEndian bool) string {
	if bigEndian {
		return "be"
	}
	return ""
}
