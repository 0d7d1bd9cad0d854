package ibta

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// ServiceID names the service that a REQ asks for. RDMA-CM makes it from a port space and a
// port.
type ServiceID uint64

// PortSpace is one of the kinds of ports of RDMA-CM.
type PortSpace uint16

// The port spaces of connections and of datagrams.
const (
	PortSpaceTCP PortSpace = 0x0106
	PortSpaceUDP PortSpace = 0x0111
)

// Service returns the service id of a port.
func (p PortSpace) Service(port uint16) ServiceID { return ServiceID(p)<<16 | ServiceID(port) }

// Port returns the port space and port of s; false if RDMA-CM did not make it.
func (s ServiceID) Port() (space PortSpace, port uint16, ok bool) {
	return PortSpace(s >> 16), uint16(s), s>>32 == 0
}

// IPCMSize is the size in bytes of RDMA-CM's header, and REQUserSize is the part of a REQ's
// private data that remains for the consumer.
const (
	IPCMSize    = 36
	REQUserSize = REQPrivateSize - IPCMSize
)

// IPCM is the header that RDMA-CM puts in front of the private data of a REQ
// (struct cma_hdr):
//
//	0  version 0           2  2  source port
//	1  b7-4 4 or 6         4 16  source address, IPv4 in its last 4 bytes
//	                      20 16  destination address likewise
//
// The destination port is in the service id. The address family is that of
// Src.
type IPCM struct {
	SrcPort  uint16     // source port of the consumer that connects
	Src, Dst netip.Addr // IP addresses of the source and the destination
}

// ParseIPCM parses the private data of a REQ. The errors are ErrShort and
// ErrIPCM.
func ParseIPCM(b []byte) (h IPCM, user []byte, err error) {
	if len(b) < IPCMSize {
		return IPCM{}, b, ErrShort
	}
	if b[0] != 0 {
		return IPCM{}, b, ErrIPCM
	}
	h.SrcPort = binary.BigEndian.Uint16(b[2:])
	switch b[1] >> 4 {
	case 4:
		h.Src, h.Dst = netip.AddrFrom4([4]byte(b[16:20])), netip.AddrFrom4([4]byte(b[32:36]))
	case 6:
		h.Src, h.Dst = netip.AddrFrom16([16]byte(b[4:20])), netip.AddrFrom16([16]byte(b[20:36]))
	default:
		return IPCM{}, b, ErrIPCM
	}
	return h, b[IPCMSize:], nil
}

// AppendTo appends the header in wire form.
func (h IPCM) AppendTo(b []byte) []byte {
	if h.Src.Is4() && h.Dst.Is4() {
		s, d := h.Src.As4(), h.Dst.As4()
		b = binary.BigEndian.AppendUint16(append(b, 0, 4<<4), h.SrcPort)
		b = append(appendZeros(b, 12), s[:]...)
		return append(appendZeros(b, 12), d[:]...)
	}
	s, d := h.Src.As16(), h.Dst.As16()
	b = binary.BigEndian.AppendUint16(append(b, 0, 6<<4), h.SrcPort)
	return append(append(b, s[:]...), d[:]...)
}

// RejectReason is the reason in a REJ.
type RejectReason uint16

// Reasons that ulnet uses.
const (
	RejectNoResources RejectReason = 3
	RejectTimeout     RejectReason = 4
	RejectServiceID   RejectReason = 8 // no listener has the service id
	RejectStale       RejectReason = 10
	RejectMTU         RejectReason = 26
	RejectConsumer    RejectReason = 28 // the consumer rejected; the private data says why
)

var rejectNames = [...]string{
	1: "no QP", 2: "no EEC", 3: "no resources", 4: "timeout", 5: "unsupported request", 6: "invalid comm ID",
	7: "invalid comm instance", 8: "invalid service ID", 9: "invalid transport type", 10: "stale connection",
	11: "RDC does not exist", 12: "invalid GID", 13: "invalid LID", 14: "invalid SL", 15: "invalid traffic class",
	16: "invalid hop limit", 17: "invalid packet rate", 18: "invalid alternate GID", 19: "invalid alternate LID",
	20: "invalid alternate SL", 21: "invalid alternate traffic class", 22: "invalid alternate hop limit",
	23: "invalid alternate packet rate", 24: "redirected port and CM", 25: "redirected port", 26: "invalid path MTU",
	27: "insufficient responder resources", 28: "consumer defined", 29: "invalid RNR retry count", 30: "duplicate comm ID",
	31: "invalid class version", 32: "invalid flow label", 33: "invalid alternate flow label", 35: "vendor option not supported",
}

// String returns, for example, "consumer defined" or "reason 99".
func (r RejectReason) String() string {
	if int(r) < len(rejectNames) && rejectNames[r] != "" {
		return rejectNames[r]
	}
	return fmt.Sprintf("reason %d", uint16(r))
}
