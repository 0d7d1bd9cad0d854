package capture

import (
	"encoding/binary"
	"errors"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// The layers of LNet on TCP. gopacket decodes packets, not streams, so each of
// them begins where a Record does; Record.Layer names the first one.
var (
	LayerTypeAcceptor   = layerType(1988, "LNetAcceptor", func() decodingLayer { return new(AcceptorLayer) })
	LayerTypeHello      = layerType(1989, "LNetHello", func() decodingLayer { return new(HelloLayer) })
	LayerTypeKsock      = layerType(1990, "Ksock", func() decodingLayer { return new(KsockLayer) })
	LayerTypeKsockLarge = layerType(1991, "KsockLarge", func() decodingLayer { return &KsockLayer{Large: true} })
	LayerTypeLNet       = layerType(1992, "LNet", func() decodingLayer { return new(LNetLayer) })
	LayerTypeLNetLarge  = layerType(1993, "LNetLarge", func() decodingLayer { return &LNetLayer{Large: true} })
	LayerTypePingInfo   = layerType(1994, "LNetPingInfo", func() decodingLayer { return new(PingInfoLayer) })
)

// AcceptorLayer is an acceptor request or its refusal.
type AcceptorLayer struct {
	layers.BaseLayer
	wire.AcceptorRequest
}

// HelloLayer is a HELLO of any version.
type HelloLayer struct {
	layers.BaseLayer
	ksock.Hello
}

// KsockLayer is the header of a message of v2 to v4. Its type tells the byte
// order. Behind a Large one (v4) comes a large LNet header.
type KsockLayer struct {
	layers.BaseLayer
	ksock.MsgHeader
	Large bool
}

// LNetLayer is the header of an LNet message; Large is the 96-byte form.
type LNetLayer struct {
	layers.BaseLayer
	wire.Header
	Large bool
}

// PingInfoLayer is the payload of a push and of the answer to a ping.
type PingInfoLayer struct {
	layers.BaseLayer
	wire.PingInfo
}

// Layer returns the type of the first layer in Raw, for gopacket.NewPacket; of
// records that are not on the wire the zero type. What RoCE carries has no layers.
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

// DecodeFromBytes decodes the layer at the beginning of b.
func (l *AcceptorLayer) DecodeFromBytes(b []byte, df gopacket.DecodeFeedback) (err error) {
	var rest []byte
	l.AcceptorRequest, rest, err = wire.ParseAcceptorRequest(b)
	return split(&l.BaseLayer, b, rest, df, err)
}

// DecodeFromBytes decodes the layer at the beginning of b.
func (l *HelloLayer) DecodeFromBytes(b []byte, df gopacket.DecodeFeedback) (err error) {
	var rest []byte
	l.Hello, rest, err = ksock.ParseHello(b)
	return split(&l.BaseLayer, b, rest, df, err)
}

// DecodeFromBytes decodes the layer at the beginning of b.
func (l *KsockLayer) DecodeFromBytes(b []byte, df gopacket.DecodeFeedback) (err error) {
	bigEndian := len(b) >= 4 && binary.LittleEndian.Uint32(b) > 0xFFFF
	var rest []byte
	if l.MsgHeader, rest, err = ksock.ParseMsgHeader(b, bigEndian); err == nil {
		err = l.Validate()
	}
	return split(&l.BaseLayer, b, rest, df, err)
}

// DecodeFromBytes decodes the layer at the beginning of b.
func (l *LNetLayer) DecodeFromBytes(b []byte, df gopacket.DecodeFeedback) (err error) {
	var rest []byte
	if l.Large {
		l.Header, rest, err = wire.ParseLargeHeader(b)
	} else {
		l.Header, rest, err = wire.ParseHeader(b)
	}
	if err == nil {
		err = l.Validate()
	}
	return split(&l.BaseLayer, b, rest, df, err)
}

// DecodeFromBytes decodes the layer at the beginning of b.
func (l *PingInfoLayer) DecodeFromBytes(b []byte, df gopacket.DecodeFeedback) (err error) {
	var rest []byte
	l.PingInfo, rest, err = wire.ParsePingInfo(b)
	return split(&l.BaseLayer, b, rest, df, err)
}

// LayerType returns LayerTypeAcceptor.
func (l *AcceptorLayer) LayerType() gopacket.LayerType { return LayerTypeAcceptor }

// LayerType returns LayerTypeHello.
func (l *HelloLayer) LayerType() gopacket.LayerType { return LayerTypeHello }

// LayerType returns LayerTypeKsock or LayerTypeKsockLarge.
func (l *KsockLayer) LayerType() gopacket.LayerType {
	if l.Large {
		return LayerTypeKsockLarge
	}
	return LayerTypeKsock
}

// LayerType returns LayerTypeLNet or LayerTypeLNetLarge.
func (l *LNetLayer) LayerType() gopacket.LayerType {
	if l.Large {
		return LayerTypeLNetLarge
	}
	return LayerTypeLNet
}

// LayerType returns LayerTypePingInfo.
func (l *PingInfoLayer) LayerType() gopacket.LayerType { return LayerTypePingInfo }

// NextLayerType returns LayerTypeHello: initiators send it next.
func (l *AcceptorLayer) NextLayerType() gopacket.LayerType { return LayerTypeHello }

// NextLayerType returns the layer of messages.
func (l *HelloLayer) NextLayerType() gopacket.LayerType {
	switch l.Version {
	case ksock.V1:
		return LayerTypeLNet
	case ksock.V4:
		return LayerTypeKsockLarge
	}
	return LayerTypeKsock
}

// NextLayerType returns the layer of the LNet header, or none after a NOOP.
func (l *KsockLayer) NextLayerType() gopacket.LayerType {
	switch {
	case l.Type == ksock.Noop:
		return gopacket.LayerTypeZero
	case l.Large:
		return LayerTypeLNetLarge
	}
	return LayerTypeLNet
}

// NextLayerType returns LayerTypePingInfo where only a ping info can be, and
// else LayerTypePayload.
func (l *LNetLayer) NextLayerType() gopacket.LayerType {
	switch {
	case l.PayloadLength == 0:
		return gopacket.LayerTypeZero
	case l.Type == wire.Put && l.Put().Portal == wire.PingPortal, l.Type == wire.Reply && beginsPingInfo(l.Payload):
		return LayerTypePingInfo
	}
	return gopacket.LayerTypePayload
}

// NextLayerType returns the zero type: nothing follows.
func (l *PingInfoLayer) NextLayerType() gopacket.LayerType { return gopacket.LayerTypeZero }

// beginsPingInfo reports whether b begins with the magic of a ping info.
func beginsPingInfo(b []byte) bool {
	_, _, err := wire.ParsePingInfo(b)
	return err == nil
}

// decodingLayer is what the layers above have in common.
type decodingLayer interface {
	gopacket.Layer
	NextLayerType() gopacket.LayerType
	DecodeFromBytes(b []byte, df gopacket.DecodeFeedback) error
}

// layerType registers a layer with gopacket.
func layerType(number int, name string, fresh func() decodingLayer) gopacket.LayerType {
	return gopacket.RegisterLayerType(number, gopacket.LayerTypeMetadata{
		Name: name,
		Decoder: gopacket.DecodeFunc(func(b []byte, p gopacket.PacketBuilder) error {
			l := fresh()
			if err := l.DecodeFromBytes(b, p); err != nil {
				return err
			}
			p.AddLayer(l)
			if next := l.NextLayerType(); next != gopacket.LayerTypeZero && len(l.LayerPayload()) > 0 {
				return p.NextDecoder(next)
			}
			return nil
		}),
	})
}

// split sets what a layer holds and what follows it.
func split(l *layers.BaseLayer, b, rest []byte, df gopacket.DecodeFeedback, err error) error {
	if err != nil {
		if errors.Is(err, wire.ErrShort) || errors.Is(err, ksock.ErrShort) {
			df.SetTruncated()
		}
		return err
	}
	l.Contents, l.Payload = b[:len(b)-len(rest)], rest
	return nil
}
