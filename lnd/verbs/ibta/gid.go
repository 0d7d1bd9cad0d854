package ibta

import "net/netip"

// GID is the address of a port: over RoCEv2 an IPv6 address, or an IPv4
// address mapped to one.
type GID [16]byte

// GIDFrom returns the GID of an IP address without its zone; of the zero Addr
// the zero GID.
func GIDFrom(a netip.Addr) GID {
	if !a.IsValid() {
		return GID{}
	}
	return a.As16()
}

// Addr returns the IP address of g, unmapped.
func (g GID) Addr() netip.Addr { return netip.AddrFrom16(g).Unmap() }

// String returns the text of the GID's IP address.
func (g GID) String() string { return g.Addr().String() }

// GUID is the identifier of a channel adapter.
type GUID uint64
