package capture

import (
	"errors"

	"ulnet/lnet/wire"
)

// Understood is a decoded payload of a protocol above LNet. As JSON it is an object.
type Understood interface {
	Summary() string   // a summary in some words, for the end of a line
	Details() []string // all fields of the payload, one line each
}

// PortalDissector decodes the payload of PUTs to a portal. Read must accept any bytes.
// With an error it returns nil, or what it could decode. It keeps no reference to
// payload.
type PortalDissector struct {
	Protocol string                                                    // name of the protocol, as lnetdump prints it
	Read     func(put wire.PutCmd, payload []byte) (Understood, error) // decodes the payload of a PUT
}

// Portals are the dissectors of a program by portal. This package has none, because it does
// not know the protocols above LNet.
type Portals map[uint32]PortalDissector

// ErrPartOfPayload says that a payload is not all in the capture, or was not
// all kept.
var ErrPartOfPayload = errors.New("only part of the payload is there")

// Payload is what a dissector made of a message.
type Payload struct {
	Protocol string     // name of the protocol, from its PortalDissector
	Is       Understood // the decoded payload; nil if nothing was understood
	Err      error      // why a part of the payload, or all of it, was not understood; nil: all was understood
}

// Read decodes the payload of a message with the dissector of its portal. It returns false if
// there is no dissector, or if the payload goes by RDMA: the record that [Record.Moved]
// returns has it.
func (p Portals) Read(r *Record) (Payload, bool) {
	if r.Kind != Message || r.Header.Type != wire.Put || r.ByRDMA() {
		return Payload{}, false
	}
	put := r.Header.Put()
	d, ok := p[put.Portal]
	if !ok {
		return Payload{}, false
	}
	is, err := d.Read(put, r.Payload)
	if r.Missing > 0 || uint64(len(r.Payload)) < uint64(r.Header.PayloadLength) {
		err = ErrPartOfPayload
	}
	return Payload{d.Protocol, is, err}, true
}
