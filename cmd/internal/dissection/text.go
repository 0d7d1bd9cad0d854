package dissection

import (
	"fmt"
	"strings"

	"ulnet/lnd/capture"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// Minor reports whether a record is shown only to those who want all of them: the begin or end of a
// connection, or a packet of RoCE whose message is a record of its own.
func (r *Shown) Minor() bool {
	return r.Kind == capture.Opened || r.Kind == capture.Closed && !refused(r.Record) || quiet(r.Record)
}

// refused reports whether a connection was reset before any data was exchanged.
func refused(r *capture.Record) bool {
	return r.Err == capture.ErrReset && !r.Conn.RoCE && r.Conn.Version == 0 && !r.Conn.MidStream
}

// Ends returns source and destination: NIDs for a message, otherwise the addresses of the
// connection.
func (r *Shown) Ends() (src, dst string) {
	if r.Kind == capture.Message {
		return r.Header.SrcNID.String(), r.Header.DestNID.String()
	}
	if r.Kind == capture.Exchange {
		return r.RoCE.Msg.SrcNID.String(), r.RoCE.Msg.DstNID.String()
	}
	return r.Src().String(), r.Dst().String()
}

// String returns a record as a line of text, without its time, source and destination.
func (r *Shown) String() string {
	var b strings.Builder
	switch r.Kind {
	case capture.Opened:
		fmt.Fprintf(&b, "connection %d opened", r.Conn.ID)
	case capture.Closed:
		describeClosed(&b, r.Record)
		return b.String()
	case capture.Request:
		fmt.Fprintf(&b, "ACCEPTOR asks for %v", r.Request.NID)
	case capture.Refusal:
		b.WriteString("ACCEPTOR refuses this version")
	case capture.Hello:
		describeHello(&b, &r.Hello)
	case capture.Noop:
		b.WriteString("NOOP")
	case capture.Message:
		describeMessage(&b, r)
	case capture.Unknown:
		fmt.Fprintf(&b, "%d bytes not understood", r.Length)
	case capture.Lost:
		what := "bytes"
		if r.Conn.RoCE {
			what = "packets"
		}
		fmt.Fprintf(&b, "%d %s lost: not in the capture", r.Length, what)
	case capture.MidStream:
		b.WriteString("connection was open before the capture began")
	case capture.RocePacket:
		describePacket(&b, &r.RoCE.Packet)
	case capture.CMMessage:
		describeCM(&b, r.RoCE)
	case capture.Exchange:
		describeExchange(&b, r)
	}
	describeKsock(&b, r.Record)
	describeKib(&b, r.Record)
	if r.Missing > 0 {
		fmt.Fprintf(&b, ", %d bytes of it missing", r.Missing)
	}
	if r.Err != nil {
		fmt.Fprintf(&b, " (%v)", r.Err)
	}
	return b.String()
}

func describeClosed(b *strings.Builder, r *capture.Record) {
	switch {
	case refused(r):
		b.WriteString("connection refused or reset before a HELLO")
	case r.Err != nil:
		fmt.Fprintf(b, "connection %d ends: %v", r.Conn.ID, r.Err)
	default:
		fmt.Fprintf(b, "connection %d closed", r.Conn.ID)
	}
}

func describeHello(b *strings.Builder, h *ksock.Hello) {
	fmt.Fprintf(b, "HELLO %v", h.Version)
	if !h.Version.IsValid() {
		return
	}
	fmt.Fprintf(b, " from %v", h.SrcNID)
	if h.Version != ksock.V1 {
		fmt.Fprintf(b, " to %v", h.DstNID)
	}
	if h.ConnType == ksock.None {
		b.WriteString(": connection refused, try again")
	} else {
		fmt.Fprintf(b, ": %v connection", h.ConnType)
	}
}

func describeMessage(b *strings.Builder, r *Shown) {
	h := &r.Header
	switch h.Type {
	case wire.Ack:
		fmt.Fprintf(b, "ACK of %d bytes, match bits %#x", h.Ack().MLength, h.Ack().MatchBits)
	case wire.Put:
		c := h.Put()
		fmt.Fprintf(b, "PUT of %d bytes to portal %d", h.PayloadLength, c.Portal)
		if !describePing(b, r.Record, "push") && !describePayload(b, r) {
			fmt.Fprintf(b, ", match bits %#x", c.MatchBits)
		}
		if c.Offset > 0 {
			fmt.Fprintf(b, ", offset %d", c.Offset)
		}
		if !c.AckMD.IsNone() {
			b.WriteString(", wants an ACK")
		}
		if r.Datagram {
			b.WriteString(", by multicast")
		}
	case wire.Get:
		c := h.Get()
		fmt.Fprintf(b, "GET of up to %d bytes from portal %d", c.SinkLength, c.Portal)
		if c.Portal == wire.PingPortal && c.MatchBits == wire.PingMatchBits {
			b.WriteString(" (ping)")
		} else if !describePayload(b, r) {
			fmt.Fprintf(b, ", match bits %#x", c.MatchBits)
		}
		if c.SrcOffset > 0 {
			fmt.Fprintf(b, ", offset %d", c.SrcOffset)
		}
	case wire.Reply:
		fmt.Fprintf(b, "REPLY of %d bytes", h.PayloadLength)
		if !describePing(b, r.Record, "ping info") {
			describePayload(b, r)
		}
	default:
		fmt.Fprintf(b, "%v of %d bytes", h.Type, h.PayloadLength)
	}
}

// describePing appends the NIs in a ping info, if the record carries one, and reports whether it
// does.
func describePing(b *strings.Builder, r *capture.Record, what string) bool {
	p, ok := r.PingInfo()
	if !ok {
		return false
	}
	fmt.Fprintf(b, " (%s %d:", what, p.Sequence)
	for i, ni := range p.NIs {
		if i == 4 && len(p.NIs) > 5 {
			fmt.Fprintf(b, " and %d more", len(p.NIs)-i)
			break
		}
		fmt.Fprintf(b, " %v", ni.NID)
		if ni.Status != wire.StatusUp {
			fmt.Fprintf(b, " %v", ni.Status)
		}
	}
	b.WriteString(")")
	return true
}

// describePayload appends the summary of the parsed payload, or the error of its dissector.
// It reports whether there is a summary.
func describePayload(b *strings.Builder, r *Shown) bool {
	p := r.said
	if p.Is != nil {
		fmt.Fprintf(b, " (%s)", p.Is.Summary())
	}
	if p.Err != nil {
		fmt.Fprintf(b, " (%v)", p.Err)
	}
	return p.Is != nil
}

// describeKsock appends zero-copy cookies, keepalive and checksum from the ksock header.
func describeKsock(b *strings.Builder, r *capture.Record) {
	if r.Kind != capture.Noop && (r.Kind != capture.Message || !r.Framed) {
		return
	}
	k := &r.Ksock
	if c := k.Request(); c != 0 {
		fmt.Fprintf(b, ", zero-copy cookie %d", c)
	}
	acks, err := k.Acks()
	switch {
	case k.IsKeepalive():
		b.WriteString(" keepalive")
	case err != nil:
	case acks.Len() > 2:
		fmt.Fprintf(b, " acknowledges cookies %d to %d", k.Cookies[0], k.Cookies[1])
	case acks.Len() > 0:
		for c := range acks.All() {
			fmt.Fprintf(b, " acknowledges cookie %d", c)
		}
	}
	if r.Checksum == capture.ChecksumBad {
		b.WriteString(", checksum is wrong")
	}
}
