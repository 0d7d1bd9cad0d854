package capture

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// LinkType tells what the packets of a capture begin with (LINKTYPE_*, see
// tcpdump.org/linktypes.html).
type LinkType uint16

// The link types that are named here. Others that gopacket knows work too.
const (
	LinkEthernet  LinkType = 1
	LinkRaw       LinkType = 101 // IPv4 or IPv6
	LinkLinuxSLL  LinkType = 113 // of "any" interface
	LinkLinuxSLL2 LinkType = 276 // the same, newer
)

// ErrLinkType means a link type that this package cannot decode.
var ErrLinkType = errors.New("unknown link type")

// Decode makes a LinkType a gopacket.Decoder.
func (l LinkType) Decode(data []byte, p gopacket.PacketBuilder) error {
	switch {
	case l == LinkLinuxSLL2:
		const protocol, size = 0, 20 // offsets
		if len(data) < size {
			return fmt.Errorf("SLL2 header of %d bytes", len(data))
		}
		return layers.EthernetType(binary.BigEndian.Uint16(data[protocol:])).Decode(data[size:], p)
	case l > 255:
		return fmt.Errorf("%w %d", ErrLinkType, l)
	case len(data) == 0:
		return errors.New("empty packet")
	}
	return layers.LinkType(l).Decode(data, p)
}
