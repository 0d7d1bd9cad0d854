package dissection

import (
	"fmt"
	"io"

	"ulnet/lnd/capture"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// details prints all fields of a record, indented.
func details(w io.Writer, r *Shown) {
	line := func(format string, args ...any) { fmt.Fprintf(w, "    "+format+"\n", args...) }
	if r.Kind == capture.Opened || r.Kind == capture.Closed {
		return
	}
	if r.RoCE != nil {
		line("frame %d, connection %d (%v QP %#x → %v QP %#x), %d bytes", r.Frame, r.Conn.ID,
			r.Src().Addr(), r.Conn.QPs[r.From], r.Dst().Addr(), r.Conn.QPs[r.From.Other()], r.Length)
		roceDetails(line, r)
		return
	}
	if r.Datagram {
		line("frame %d, multicast datagram (%v → %v), %d bytes", r.Frame, r.Src(), r.Dst(), r.Length)
	} else {
		line("frame %d, connection %d (%v → %v), stream offset %d, %d bytes",
			r.Frame, r.Conn.ID, r.Src(), r.Dst(), r.Offset, r.Length)
	}
	switch r.Kind {
	case capture.Request, capture.Refusal:
		line("acceptor: version %d, NID %v, %s", r.Request.Version, r.Request.NID, orderName(r.Request.BigEndian))
	case capture.Hello:
		helloDetails(line, &r.Hello)
	case capture.Noop:
		ksockDetails(line, r.Record)
	case capture.Message:
		if r.Framed {
			ksockDetails(line, r.Record)
		}
		messageDetails(line, r)
	case capture.Unknown:
		line("first bytes: % x", r.Raw[:min(len(r.Raw), 32)])
	}
}

type liner func(format string, args ...any)

func helloDetails(line liner, h *ksock.Hello) {
	line("hello: version %v, type %v, %s", h.Version, h.ConnType, orderName(h.BigEndian))
	if !h.Version.IsValid() {
		return
	}
	line("hello: src NID %v, src pid %v, src incarnation %d", h.SrcNID, h.SrcPID, h.SrcIncarnation)
	line("hello: dst NID %v, dst pid %v, dst incarnation %d", h.DstNID, h.DstPID, h.DstIncarnation)
	if h.AddressCount > 0 {
		line("hello: %d addresses %v", h.AddressCount, h.Addresses)
	}
}

func ksockDetails(line liner, r *capture.Record) {
	k := &r.Ksock
	state := map[capture.ChecksumState]string{
		capture.ChecksumNone: "none", capture.ChecksumGood: "ok",
		capture.ChecksumBad: "bad", capture.ChecksumUnchecked: "not checked",
	}[r.Checksum]
	if k.Checksum != 0 {
		state = fmt.Sprintf("%#08x %s", k.Checksum, state)
	}
	line("ksock: type %v, checksum %s, cookies %d %d, %s", k.Type, state, k.Cookies[0], k.Cookies[1], orderName(k.BigEndian))
}

func messageDetails(line liner, r *Shown) {
	h := &r.Header
	line("lnet: type %v, src %v-%v, dest %v-%v, payload length %d", h.Type, h.SrcPID, h.SrcNID, h.DestPID, h.DestNID, h.PayloadLength)
	switch h.Type {
	case wire.Ack:
		c := h.Ack()
		line("ack: dst MD %v, match bits %#x, mlength %d", c.DstMD, c.MatchBits, c.MLength)
	case wire.Put:
		c := h.Put()
		line("put: ack MD %v, match bits %#x, hdr data %#x, portal %d, offset %d", c.AckMD, c.MatchBits, c.HdrData, c.Portal, c.Offset)
	case wire.Get:
		c := h.Get()
		line("get: return MD %v, match bits %#x, portal %d, src offset %d, sink length %d", c.ReturnMD, c.MatchBits, c.Portal, c.SrcOffset, c.SinkLength)
	case wire.Reply:
		line("reply: dst MD %v", h.Reply().DstMD)
	}
	payloadDetails(line, r.said)
	if p, ok := r.PingInfo(); ok {
		line("ping info: features %#x %v, pid %v, sequence %d, %s", uint32(p.Features), p.Features, p.PID, p.Sequence, orderName(p.BigEndian))
		for _, ni := range p.NIs {
			line("ping info: %v %v", ni.NID, ni.Status)
		}
	}
}

func payloadDetails(line liner, p capture.Payload) {
	if p.Is != nil {
		for _, d := range p.Is.Details() {
			line("%s: %s", p.Protocol, d)
		}
	}
	if p.Err != nil {
		line("%s: not understood: %v", p.Protocol, p.Err)
	}
}

func orderName(bigEndian bool) string {
	if bigEndian {
		return "big-endian"
	}
	return "little-endian"
}
