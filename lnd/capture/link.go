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
	LinkLinuxSLL  LinkType = 113 // packets captured on the pseudo-interface "any"
	LinkLinuxSLL2 LinkType = 276 // packets of "any" in the newer form of the header
)

// errLinkType means a link type that this package cannot decode.
var errLinkType = errors.New("unknown link type")

// Decode makes a LinkType a gopacket.Decoder.
func (l LinkType) Decode(data []byte, p gopacket.PacketBuilder) error {
	switch {
	case l == LinkLinuxSLL2:
		const protocol, size = 0, 20 // offset of the protocol field, size of the header
		if len(data) < size {
			return fmt.Errorf("SLL2 header of %d bytes", len(data))
		}
		return layers.EthernetType(binary.BigEndian.Uint16(data[protocol:])).Decode(data[size:], p)
	case l > 255:
		return fmt.Errorf("%w %d", errLinkType, l)
	case len(data) == 0:
		return errors.New("empty packet")
	}
	return layers.LinkType(l).Decode(data, p)
}
