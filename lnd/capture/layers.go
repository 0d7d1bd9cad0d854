package capture

import (
	"encoding/binary"
	"errors"

	"github.com/google/gopacket"

	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// The layers of LNet. gopacket decodes packets, not streams, so on TCP each of them
// begins where a Record does; Record.Layer names the first one. LNetDatagram is a
// multicast datagram, above UDP; KsockLarge is the message header of v4, LNetLarge the
// 96-byte LNet header.
var (
	LayerTypeDatagram   = layerType(1987, "LNetDatagram", readDatagramPrefix)
	LayerTypeAcceptor   = layerType(1988, "LNetAcceptor", readAcceptor)
	LayerTypeHello      = layerType(1989, "LNetHello", readHello)
	LayerTypeKsock      = layerType(1990, "Ksock", readKsock(false))
	LayerTypeKsockLarge = layerType(1991, "KsockLarge", readKsock(true))
	LayerTypeLNet       = layerType(1992, "LNet", readHeader(wire.ParseHeader))
	LayerTypeLNetLarge  = layerType(1993, "LNetLarge", readHeader(wire.ParseLargeHeader))
	LayerTypePingInfo   = layerType(1994, "LNetPingInfo", readPingInfo)
)

// Layer is a decoded layer of one of the types above.
type Layer struct {
	Contents []byte // bytes of the layer
	Payload  []byte // bytes behind the layer
	// Value is a *wire.AcceptorRequest (of a request or its refusal), *ksock.Hello,
	// *ksock.MsgHeader, *wire.Header or *wire.PingInfo; nil for a datagram's prefix.
	Value any
	typ   gopacket.LayerType
}

// LayerContents returns the bytes of the layer, and LayerPayload those behind it.
func (l *Layer) LayerContents() []byte { return l.Contents }
func (l *Layer) LayerPayload() []byte  { return l.Payload }

// LayerType returns one of the types above.
func (l *Layer) LayerType() gopacket.LayerType { return l.typ }

// layerReader decodes the layer at the beginning of b. It returns what follows the
// layer, and the type of that: the zero type if nothing is expected there.
type layerReader func(b []byte) (value any, rest []byte, next gopacket.LayerType, err error)

// layerType registers a layer with gopacket.
func layerType(number int, name string, read layerReader) gopacket.LayerType {
	decode := func(b []byte, p gopacket.PacketBuilder) error {
		value, rest, next, err := read(b)
		if err != nil {
			if errors.Is(err, wire.ErrShort) || errors.Is(err, ksock.ErrShort) {
				p.SetTruncated()
			}
			return err
		}
		p.AddLayer(&Layer{b[:len(b)-len(rest)], rest, value, gopacket.LayerType(number)})
		if next == gopacket.LayerTypeZero || len(rest) == 0 {
			return nil
		}
		return p.NextDecoder(next)
	}
	return gopacket.RegisterLayerType(number, gopacket.LayerTypeMetadata{Name: name, Decoder: gopacket.DecodeFunc(decode)})
}

// Layer returns the type of the first layer in Raw, for gopacket.NewPacket. It is the zero type
// for records that are not on the wire, and a payload for records of RoCE, whose contents have
// no layers.
func (r *Record) Layer() gopacket.LayerType {
	if r.RoCE != nil {
		return gopacket.LayerTypePayload
	}
	switch r.Kind {
	case Request, Refusal:
		return LayerTypeAcceptor
	case Hello:
		return LayerTypeHello
	case Noop:
		return LayerTypeKsock
	case Message:
		switch {
		case r.Datagram:
			return LayerTypeDatagram
		case !r.Framed:
			return LayerTypeLNet
		case r.Large:
			return LayerTypeKsockLarge
		}
		return LayerTypeKsock
	case Unknown:
		return gopacket.LayerTypePayload
	}
	return gopacket.LayerTypeZero
}

// readAcceptor decodes an acceptor request. The initiator's next layer is its HELLO.
func readAcceptor(b []byte) (any, []byte, gopacket.LayerType, error) {
	r, rest, err := wire.ParseAcceptorRequest(b)
	return &r, rest, LayerTypeHello, err
}

func readHello(b []byte) (any, []byte, gopacket.LayerType, error) {
	h, rest, err := ksock.ParseHello(b)
	switch h.Version {
	case ksock.V1:
		return &h, rest, LayerTypeLNet, err
	case ksock.V4:
		return &h, rest, LayerTypeKsockLarge, err
	}
	return &h, rest, LayerTypeKsock, err
}

// readKsock reads the header of a message of v2 to v4. Its type tells the byte order.
func readKsock(large bool) layerReader {
	return func(b []byte) (any, []byte, gopacket.LayerType, error) {
		bigEndian := len(b) >= 4 && binary.LittleEndian.Uint32(b) > 0xFFFF
		m, rest, err := ksock.ParseMsgHeader(b, bigEndian)
		if err == nil {
			err = m.Validate()
		}
		if m.Type == ksock.Noop {
			return &m, rest, gopacket.LayerTypeZero, err
		}
		return &m, rest, headerLayer(large), err
	}
}

// headerLayer is the layer of an LNet header.
func headerLayer(large bool) gopacket.LayerType {
	if large {
		return LayerTypeLNetLarge
	}
	return LayerTypeLNet
}

// readHeader decodes an LNet header. The next layer is a ping info if the message can carry
// nothing else, otherwise a payload.
func readHeader(parse func([]byte) (wire.Header, []byte, error)) layerReader {
	return func(b []byte) (any, []byte, gopacket.LayerType, error) {
		h, rest, err := parse(b)
		if err == nil {
			err = h.Validate()
		}
		next := gopacket.LayerTypePayload
		switch {
		case err != nil || h.PayloadLength == 0:
			next = gopacket.LayerTypeZero
		case h.Type == wire.Put && h.Put().Portal == wire.PingPortal, h.Type == wire.Reply && beginsPingInfo(rest):
			next = LayerTypePingInfo
		}
		return &h, rest, next, err
	}
}

func readPingInfo(b []byte) (any, []byte, gopacket.LayerType, error) {
	info, rest, err := wire.ParsePingInfo(b)
	return &info, rest, gopacket.LayerTypeZero, err
}

// beginsPingInfo reports whether b begins with a complete ping info.
func beginsPingInfo(b []byte) bool {
	_, _, err := wire.ParsePingInfo(b)
	return err == nil
}
