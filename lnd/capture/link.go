package capture

// LinkType tells what the packets of a capture begin with (LINKTYPE_*, see
// tcpdump.org/linktypes.html).
type LinkType uint16

// The link types that are named here. Others that gopacket knows work too in programs with package encap.
const (
	LinkEthernet  LinkType = 1
	LinkRaw       LinkType = 101 // IPv4 or IPv6
	LinkLinuxSLL  LinkType = 113 // packets captured on the pseudo-interface "any"
	LinkLinuxSLL2 LinkType = 276 // packets of "any" in the newer form of the header
)
