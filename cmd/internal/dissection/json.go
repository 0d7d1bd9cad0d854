package dissection

import (
	"encoding/json"
	"io"

	"ulnet/lnd/capture"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// jsonPrinter prints a JSON object per line for each record.
type jsonPrinter struct {
	encoder *json.Encoder
	verbose bool
	file    string
}

// NewJSON returns a printer of JSON objects, each on a line. If verbose is set, it also prints when
// connections are opened and closed. The printer ignores errors of w, so w must keep its first error for
// its owner, as a bufio.Writer does.
func NewJSON(w io.Writer, verbose bool) Printer {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return &jsonPrinter{encoder: e, verbose: verbose}
}

func (p *jsonPrinter) Begin(file string) { p.file = file }

func (p *jsonPrinter) Record(r *Shown) {
	if !p.verbose && (r.Kind == capture.Opened || r.Kind == capture.Closed || quiet(r.Record)) {
		return
	}
	_ = p.encoder.Encode(recordObject(r, p.file)) // an error is ignored, because flushing the writer returns it again
}

// recordObject returns a record as JSON; file is its source if there are several, or "".
func recordObject(r *Shown, file string) (o object) {
	message := r.message()
	src, dest := knownNIDs(r, message)
	o.some("file", file)
	o.put("time", r.Time.UTC().Format(fullTime))
	o.put("src", r.Src().String())
	o.put("dst", r.Dst().String())
	o.some("src_nid", src)
	o.some("dest_nid", dest)
	if kind := r.Type(); kind != "" {
		o.put("type", kind)
	} else {
		o.some("event", eventNames[r.Kind])
	}
	o.some("frame", r.Frame)
	o.put("connection", r.Conn.ID) // number of the connection; 0: the packet belongs to no connection
	o.some("multicast", r.Datagram)
	o.put("offset", r.Offset)
	o.put("length", r.Length)
	version, bigEndian := encoding(r.Record)
	o.some("version", version)
	o.byteOrder(bigEndian)
	o.some("refusal", r.Kind == capture.Refusal)
	if message != nil {
		o.message(message.Record)
	} else if r.Kind == capture.Hello && r.Hello.Version.IsValid() {
		o.hello(&r.Hello)
	}
	if r.Ksock.Cookies != [2]uint64{} {
		o.put("cookies", r.Ksock.Cookies[:])
	}
	o.some("checksum", checksumNames[r.Checksum])
	if message != nil {
		o.pingInfo(message.Record)
	}
	o.roce(r)
	if message != nil {
		o.said(r.said)
	}
	if r.Err != nil {
		o.put("error", r.Err.Error())
	}
	return o
}

// eventNames are the names of records that are not messages.
var eventNames = map[capture.Kind]string{
	capture.Opened: "opened", capture.Closed: "closed", capture.Unknown: "unknown",
	capture.Lost: "lost", capture.MidStream: "mid-stream", capture.RocePacket: "packet",
}

var checksumNames = map[capture.ChecksumState]string{
	capture.ChecksumGood: "good", capture.ChecksumBad: "bad", capture.ChecksumUnchecked: "unchecked",
}

// knownNIDs returns the source and destination NIDs that a record names, each "" if the record
// does not name it.
func knownNIDs(r, message *Shown) (src, dest string) {
	switch {
	case message != nil:
		return message.Header.SrcNID.String(), message.Header.DestNID.String()
	case r.Kind == capture.Exchange:
		return r.RoCE.Msg.SrcNID.String(), r.RoCE.Msg.DstNID.String()
	case r.Kind == capture.Request:
		return "", r.Request.NID.String()
	case r.Kind == capture.Hello && r.Hello.Version == ksock.V1:
		return r.Hello.SrcNID.String(), ""
	case r.Kind == capture.Hello && r.Hello.Version.IsValid():
		return r.Hello.SrcNID.String(), r.Hello.DstNID.String()
	}
	return "", ""
}

// encoding returns the version of the acceptor request or of socklnd, and the byte order.
func encoding(r *capture.Record) (version uint32, bigEndian bool) {
	switch r.Kind {
	case capture.Request, capture.Refusal:
		return r.Request.Version, r.Request.BigEndian
	case capture.Hello:
		return uint32(r.Hello.Version), r.Hello.BigEndian
	}
	return uint32(r.Conn.Version), r.Ksock.BigEndian
}

// byteOrder puts the byte order if it is not little-endian.
func (o *object) byteOrder(bigEndian bool) {
	if bigEndian {
		o.put("byte_order", "be")
	}
}

func (o *object) hello(h *ksock.Hello) {
	o.put("src_pid", uint32(h.SrcPID))
	o.put("dest_pid", uint32(h.DstPID))
	o.put("conn_type", h.ConnType.String())
	o.put("src_incarnation", decimal(h.SrcIncarnation))
	if h.Version != ksock.V1 {
		o.put("dest_incarnation", decimal(h.DstIncarnation))
	}
}

func (o *object) message(r *capture.Record) {
	h := &r.Header
	o.put("src_pid", uint32(h.SrcPID))
	o.put("dest_pid", uint32(h.DestPID))
	o.put("payload_length", h.PayloadLength)
	switch h.Type {
	case wire.Ack:
		c := h.Ack()
		o.put("match_bits", hex(c.MatchBits))
		o.put("mlength", c.MLength)
		o.put("dst_wmd", c.DstMD.String())
	case wire.Put:
		c := h.Put()
		o.put("portal", c.Portal)
		o.put("match_bits", hex(c.MatchBits))
		o.put("hdr_data", hex(c.HdrData))
		o.put("target_offset", c.Offset)
		if !c.AckMD.IsNone() {
			o.put("ack_wmd", c.AckMD.String())
		}
	case wire.Get:
		c := h.Get()
		o.put("portal", c.Portal)
		o.put("match_bits", hex(c.MatchBits))
		o.put("target_offset", c.SrcOffset)
		o.put("sink_length", c.SinkLength)
		o.put("return_wmd", c.ReturnMD.String())
	case wire.Reply:
		o.put("dst_wmd", h.Reply().DstMD.String())
	}
	o.some("missing", r.Missing)
}

func (o *object) pingInfo(r *capture.Record) {
	p, ok := r.PingInfo()
	if !ok {
		return
	}
	nis := []object{}
	for _, ni := range p.NIs {
		nis = append(nis, object{{"nid", ni.NID.String()}, {"status", ni.Status.String()}})
	}
	o.put("ping_info", object{
		{"features", hex(uint64(p.Features))}, {"pid", uint32(p.PID)}, {"sequence", p.Sequence}, {"nis", nis},
	})
}

// said puts the parsed payload into the object, and the error of the payload's dissector.
func (o *object) said(p capture.Payload) {
	o.some("protocol", p.Protocol)
	o.some("message", p.Is)
	if p.Err != nil {
		o.put("message_error", p.Err.Error())
	}
}
