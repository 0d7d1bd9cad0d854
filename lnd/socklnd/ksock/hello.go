package ksock

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"ulnet/lnet/nid"
)

// Hello opens a connection: the initiator sends one after its acceptor
// request, the other side answers with one of the same version (struct
// ksock_hello_msg, ksock_hello_msg_nid4, and struct lnet_hdr for v1).
type Hello struct {
	Version        Version  // version of the protocol, and so of the HELLO's form
	BigEndian      bool     // the sender is a big-endian host; false for v1
	SrcNID         nid.NID  // NID of the sender
	DstNID         nid.NID  // NID of the receiver, not in v1; an unset NID is written as zero
	SrcPID         nid.PID  // PID of the sender
	DstPID         nid.PID  // PID of the receiver; initiators send 0, answers echo it
	SrcIncarnation uint64   // start time of the sender's NI, wall-clock nanoseconds
	DstIncarnation uint64   // incarnation of the receiver, not in v1; initiators send 0, answers echo it
	ConnType       ConnType // type of the connection as the sender sees it
	// AddressCount is the nips field as it stands on the wire. Senders of today leave it 0; it
	// equals len(Addresses) in every valid HELLO of v1 to v3.
	AddressCount uint32
	// Addresses are the sender's other IPv4 addresses. Only nodes before Lustre 2.15
	// send them, and no node reads them.
	Addresses []netip.Addr
}

// AppendBinary appends h as its Version and BigEndian say. It fails with
// ErrVersion, and with errLargeNID for a NID that its version cannot carry.
func (h *Hello) AppendBinary(b []byte) ([]byte, error) {
	if !h.Version.IsValid() {
		return b, ErrVersion
	}
	switch h.Version {
	case V1:
		return h.appendV1(b)
	case V4:
		return h.appendV4(b)
	}
	return h.appendV3(b)
}

// ParseHello parses one HELLO of any version and returns what follows it. It allocates only
// Addresses. Errors: those of ParsePrefix, ErrShort, ErrHelloType, ErrAddresses, and
// nid.ErrSize for an impossible NID of v4. With ErrAddresses the fixed part of the Hello is
// valid, and rest is what follows that part.
func ParseHello(b []byte) (h Hello, rest []byte, err error) {
	p, err := ParsePrefix(b)
	if err != nil {
		return Hello{}, b, err
	}
	size := p.Version.helloSize()
	if len(b) < size {
		return Hello{}, b, ErrShort
	}
	h.Version, h.BigEndian = p.Version, p.BigEndian
	switch p.Version {
	case V1:
		err = h.parseV1(b)
	case V4:
		err = h.parseV4(b)
	default:
		h.parseV3(b)
	}
	if err != nil {
		return Hello{}, b, err
	}
	n, err := addressCount(b, p)
	if err != nil {
		return h, b[size:], err
	}
	if len(b) < size+4*n {
		return Hello{}, b, ErrShort
	}
	h.parseAddresses(b[size:][:4*n])
	return h, b[size+4*n:], nil
}

// Validate reports the first reason to refuse h: a source NID that is unset
// or ANY, a connection type that does not exist, a bad address list.
func (h *Hello) Validate() error {
	if !h.SrcNID.IsValid() || h.SrcNID.IsAny() {
		return ErrSourceNID
	}
	if !h.ConnType.IsValid() {
		return ErrConnType
	}
	if h.Version != V4 && int(h.AddressCount) != len(h.Addresses) {
		return ErrAddresses
	}
	for _, a := range h.Addresses {
		if !a.Is4() || a.IsUnspecified() {
			return ErrAddresses
		}
	}
	return nil
}

// String returns, for example, "HELLO v3 10.0.0.1@tcp → 10.0.0.2@tcp CONTROL".
func (h *Hello) String() string {
	if h.Version == V1 {
		return fmt.Sprintf("HELLO v1 %v %v", h.SrcNID, h.ConnType)
	}
	return fmt.Sprintf("HELLO %v %v → %v %v", h.Version, h.SrcNID, h.DstNID, h.ConnType)
}

// appendV3 appends the HELLO in the form of v2 and v3.
func (h *Hello) appendV3(b []byte) ([]byte, error) {
	src, err := value4(h.SrcNID)
	if err != nil {
		return b, err
	}
	dst, err := value4(h.DstNID)
	if err != nil {
		return b, err
	}
	o := byteOrder(h.BigEndian)
	b = o.AppendUint32(b, Magic)              // field kshm_magic of struct ksock_hello_msg_nid4
	b = o.AppendUint32(b, uint32(h.Version))  // field kshm_version of struct ksock_hello_msg_nid4
	b = o.AppendUint64(b, src)                // field kshm_src_nid of struct ksock_hello_msg_nid4
	b = o.AppendUint64(b, dst)                // field kshm_dst_nid of struct ksock_hello_msg_nid4
	b = o.AppendUint32(b, uint32(h.SrcPID))   // field kshm_src_pid of struct ksock_hello_msg_nid4
	b = o.AppendUint32(b, uint32(h.DstPID))   // field kshm_dst_pid of struct ksock_hello_msg_nid4
	b = o.AppendUint64(b, h.SrcIncarnation)   // field kshm_src_incarnation of struct ksock_hello_msg_nid4
	b = o.AppendUint64(b, h.DstIncarnation)   // field kshm_dst_incarnation of struct ksock_hello_msg_nid4
	b = o.AppendUint32(b, uint32(h.ConnType)) // field kshm_ctype of struct ksock_hello_msg_nid4
	b = o.AppendUint32(b, h.AddressCount)     // field kshm_nips of struct ksock_hello_msg_nid4
	return h.appendAddresses(b), nil          // field kshm_ips of struct ksock_hello_msg_nid4
}

func (h *Hello) parseV3(b []byte) {
	o := byteOrder(h.BigEndian)
	h.SrcNID = nid.From4(o.Uint64(b[8:]))          // field kshm_src_nid of struct ksock_hello_msg_nid4
	h.DstNID = nid.From4(o.Uint64(b[16:]))         // field kshm_dst_nid of struct ksock_hello_msg_nid4
	h.SrcPID = nid.PID(o.Uint32(b[24:]))           // field kshm_src_pid of struct ksock_hello_msg_nid4
	h.DstPID = nid.PID(o.Uint32(b[28:]))           // field kshm_dst_pid of struct ksock_hello_msg_nid4
	h.SrcIncarnation = o.Uint64(b[32:])            // field kshm_src_incarnation of struct ksock_hello_msg_nid4
	h.DstIncarnation = o.Uint64(b[40:])            // field kshm_dst_incarnation of struct ksock_hello_msg_nid4
	h.ConnType = ConnType(int32(o.Uint32(b[48:]))) // field kshm_ctype of struct ksock_hello_msg_nid4
	h.AddressCount = o.Uint32(b[52:])              // field kshm_nips of struct ksock_hello_msg_nid4
}

// value4 returns n in the 8 bytes of v1 to v3; an unset NID is zero.
func value4(n nid.NID) (uint64, error) {
	if !n.Is4() && !n.IsAny() {
		return 0, errLargeNID
	}
	return n.Value4(), nil
}

func (h *Hello) appendAddresses(b []byte) []byte {
	o := byteOrder(h.BigEndian)
	for _, a := range h.Addresses {
		v4 := a.As4()
		b = o.AppendUint32(b, binary.BigEndian.Uint32(v4[:]))
	}
	return b
}

func (h *Hello) parseAddresses(b []byte) {
	if len(b) == 0 {
		return
	}
	o := byteOrder(h.BigEndian)
	h.Addresses = make([]netip.Addr, 0, len(b)/4)
	for ; len(b) > 0; b = b[4:] {
		var v4 [4]byte
		binary.BigEndian.PutUint32(v4[:], o.Uint32(b))
		h.Addresses = append(h.Addresses, netip.AddrFrom4(v4))
	}
}
