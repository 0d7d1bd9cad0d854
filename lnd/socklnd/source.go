package socklnd

import (
	"fmt"

	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
)

// SourceAddress says whether the NID that the dialling side claims in its HELLO has to have the
// address from which it dials. Local policy: kernels do not check.
type SourceAddress string

// The values of a SourceAddress.
const (
	// SourceAddressCheck refuses a HELLO whose NID has another address than the connection.
	// In all recordings of kernel LNet, with one rail and with several, both sides of a
	// connection have the address of the NID in their HELLO.
	SourceAddressCheck SourceAddress = "check"
	// SourceAddressOff accepts every NID of the NI's net, as kernels do. Two kinds of networks
	// need it: those where addresses are translated (NAT), and those where kernel nodes have
	// several addresses on one interface and dial from the one that is closest to the peer.
	SourceAddressOff SourceAddress = "off"
)

// known reports whether a is one of the values of SourceAddress, or empty for the default.
func (a SourceAddress) known() bool {
	switch a {
	case "", SourceAddressCheck, SourceAddressOff:
		return true
	}
	return false
}

// identity returns the process that the sender of the HELLO is taken for. renamed says that it
// is named by its socket, whatever its HELLO claims. Kernels fail an assertion for a peer that
// would be named by an IPv6 address; here that works.
func (ni *NI) identity(s *shake, h *ksock.Hello) (id nid.ProcessID, renamed bool) {
	if ni.cfg.Accept == AcceptAll && s.remote.Port() > maxPrivilegedPort {
		return nid.ProcessID{
			NID: nid.FromAddr(ni.nid.Net(), s.remote.Addr()),
			PID: nid.PID(s.remote.Port()) | nid.UserPID,
		}, true
	}
	return nid.ProcessID{NID: h.SrcNID, PID: h.SrcPID}, false
}

// checkIdentity refuses a sender that is not of the NI's net, or claims a NID that cannot be on the
// other side of this connection. The sender gets no answer: a correct node would learn nothing from
// an answer, and the answer would contain the claimed NID. (In an answer to a dial the NID is
// compared with the one that was dialled: see judge.)
func (ni *NI) checkIdentity(s *shake, claimed nid.NID) *refusal {
	switch {
	case claimed.Net() != ni.nid.Net():
		return &refusal{why: HelloNet, err: fmt.Errorf("it says that it is %v", claimed)}
	case claimed == ni.nid:
		return &refusal{why: HelloSource, err: fmt.Errorf("it says that it is %v, as this node is", claimed)}
	case !claimed.Addr().IsValid():
		return &refusal{why: HelloSource, err: fmt.Errorf("it says that it is %v, which is no address", claimed)}
	case ni.cfg.SourceAddress == SourceAddressCheck && claimed != nid.FromAddr(ni.nid.Net(), s.remote.Addr()):
		return &refusal{why: HelloAddress, err: fmt.Errorf(
			"it says that it is %v; if it is (NAT, or an interface with several addresses), set source_address: off", claimed)}
	}
	return nil
}
