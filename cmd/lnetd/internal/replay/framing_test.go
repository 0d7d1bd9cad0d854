package replay

import (
	"errors"
	"fmt"

	"ulnet/lnd/capture"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// Framer splits the bytes that one side of a connection sends into records: acceptor request,
// HELLO, then NOOPs and LNet messages, in all versions of the protocol. To use a Framer from the
// beginning of a stream, set only its Side.
type Framer struct {
	Side Side // the side that sends the bytes

	opened  bool // the acceptor request was parsed, or there is none
	greeted bool // the HELLO was parsed
	version ksock.Version
}

var errMessageType = errors.New("neither NOOP nor LNet message")

// Size returns the length of the record at the beginning of b, or, if b is too short to tell the length, how
// many bytes are needed to tell it. When b has as many bytes as Size returns, the record is complete.
func (f *Framer) Size(b []byte) (int, error) {
	switch {
	case f.greeted:
		return f.messageSize(b)
	case !f.opened && f.Side == Initiator:
		return wire.AcceptorRequestSize(b)
	}
	return ksock.NextSize(b)
}

func (f *Framer) messageSize(b []byte) (int, error) {
	header := wire.HeaderSize
	switch {
	case f.version == ksock.V1:
	case len(b) < ksock.MsgHeaderSize:
		return ksock.MsgHeaderSize, nil
	default:
		k, _, _ := ksock.ParseMsgHeader(b, false) // cannot fail: b is long enough
		if k.Type == ksock.Noop {
			return ksock.MsgHeaderSize, nil
		}
		if k.Type != ksock.LNet {
			return 0, fmt.Errorf("%w: type %#x", errMessageType, uint32(k.Type))
		}
		header += ksock.MsgHeaderSize
		if f.version == ksock.V4 {
			header += wire.LargeHeaderSize - wire.HeaderSize
		}
	}
	if len(b) < header {
		return header, nil
	}
	r := f.message(b[:header])
	if err := r.Header.Validate(); err != nil {
		return 0, err
	}
	return header + int(r.Header.PayloadLength), nil
}

// Next parses a complete record and advances past it. The record refers to b.
func (f *Framer) Next(b []byte) (r *capture.Record, err error) {
	switch {
	case f.greeted:
		r = f.message(b)
	case !f.opened && f.Side == Initiator:
		f.opened = true
		r = &capture.Record{Kind: capture.Request}
		r.Request, _, err = wire.ParseAcceptorRequest(b)
	default:
		f.opened, f.greeted = true, true
		r = &capture.Record{Kind: capture.Hello}
		r.Hello, _, err = ksock.ParseHello(b)
		f.version = r.Hello.Version
	}
	r.Raw = b
	return r, err
}

// message parses a NOOP or a message whose headers are complete.
func (f *Framer) message(b []byte) *capture.Record {
	r := &capture.Record{Kind: capture.Message, Framed: f.version != ksock.V1, Large: f.version == ksock.V4}
	if r.Framed {
		r.Ksock, b, _ = ksock.ParseMsgHeader(b, false) // cannot fail: the record is complete
		if r.Ksock.Type == ksock.Noop {
			r.Kind = capture.Noop
			return r
		}
	}
	if r.Large {
		r.Header, r.Payload, _ = wire.ParseLargeHeader(b) // cannot fail: the record is complete
	} else {
		r.Header, r.Payload, _ = wire.ParseHeader(b) // cannot fail: the record is complete
	}
	return r
}
