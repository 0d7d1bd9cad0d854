package linkwatch

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

// Messages of rtnetlink, in the byte order of the machine (linux/netlink.h,
// linux/rtnetlink.h, linux/if_link.h, linux/if_addr.h):
//
//	off  size  field
//	0    4     length, with this header
//	4    2     type
//	6    2     flags
//	8    4     sequence number of the request that this answers
//	12   4     port of the receiver
//	16   16    of links: family 1, unused 1, type 2, index 4, flags 4, changed flags 4
//	16   8     of addresses: family 1, prefix 1, flags 1, scope 1, index 4
//	..         attributes: length 2 with these four bytes, type 2, value; each padded to 4
const (
	headerSize    = 16
	linkSize      = 16
	addrSize      = 8
	attributeSize = 4

	typeError   = 2  // NLMSG_ERROR in linux/netlink.h
	typeDone    = 3  // NLMSG_DONE in linux/netlink.h
	typeNewLink = 16 // RTM_NEWLINK in linux/rtnetlink.h
	typeDelLink = 17 // RTM_DELLINK in linux/rtnetlink.h
	typeGetLink = 18 // RTM_GETLINK in linux/rtnetlink.h
	typeNewAddr = 20 // RTM_NEWADDR in linux/rtnetlink.h
	typeDelAddr = 21 // RTM_DELADDR in linux/rtnetlink.h
	typeGetAddr = 22 // RTM_GETADDR in linux/rtnetlink.h

	flagRequest     = 0x01   // NLM_F_REQUEST in linux/netlink.h
	flagInterrupted = 0x10   // NLM_F_DUMP_INTR: something changed during the dump
	flagDump        = 0x300  // NLM_F_DUMP in linux/netlink.h
	attributeMask   = 0x3fff // NLA_TYPE_MASK in linux/netlink.h

	attrName    = 3 // IFLA_IFNAME in linux/if_link.h
	attrMTU     = 4 // IFLA_MTU in linux/if_link.h: 4 bytes
	attrAddress = 1 // IFA_ADDRESS: address of the other end on a point-to-point interface
	attrLocal   = 2 // IFA_LOCAL in linux/if_addr.h
)

// The flags of an interface (linux/if.h).
const (
	flagUp      = 1 << 0  // IFF_UP: an administrator has brought the interface up
	flagRunning = 1 << 6  // IFF_RUNNING: the interface can be used
	flagLowerUp = 1 << 16 // IFF_LOWER_UP: the interface has a carrier
	flagDormant = 1 << 17 // IFF_DORMANT: the interface waits for something, such as 802.1X
)

// errMessage is the error of bytes that are no messages of rtnetlink.
var errMessage = errors.New("not a message of rtnetlink")

// message has those fields of a message that the watcher uses.
type message struct {
	kind        uint16
	seq         uint32
	interrupted bool
	index       uint32
	name        []byte // name of the interface, part of the parsed bytes; empty: the message has none
	mtu         uint32 // MTU of the interface; 0: the message has none
	flags       uint32 // flags of the interface, in a message about a link
	addr        netip.Addr
}

// parse calls the function each with every message in b about a link, an address, an error or the
// end of a dump. It ignores all other messages, among them those of bridges about their ports, which have
// the same types as messages about links.
func parse(b []byte, each func(message)) error {
	for len(b) >= headerSize {
		size := binary.NativeEndian.Uint32(b)
		if size < headerSize || uint64(size) > uint64(len(b)) {
			return errMessage
		}
		m := message{
			kind: binary.NativeEndian.Uint16(b[4:]), seq: binary.NativeEndian.Uint32(b[8:]),
			interrupted: binary.NativeEndian.Uint16(b[6:])&flagInterrupted != 0,
		}
		ok, err := m.parseBody(b[headerSize:size])
		if err != nil {
			return err
		}
		if ok {
			each(m)
		}
		b = b[min(len(b), int(size+3)&^3):]
	}
	if len(b) > 0 {
		return errMessage
	}
	return nil
}

// parseBody parses the body of a message, and reports whether the watcher uses the message.
func (m *message) parseBody(b []byte) (ok bool, err error) {
	switch m.kind {
	case typeError, typeDone:
		return true, nil
	case typeNewLink, typeDelLink:
		if len(b) < linkSize {
			return false, errMessage
		}
		m.index, m.flags = binary.NativeEndian.Uint32(b[4:]), binary.NativeEndian.Uint32(b[8:])
		err := attributes(b[linkSize:], func(kind uint16, value []byte) {
			switch {
			case kind == attrName:
				m.name = text(value)
			case kind == attrMTU && len(value) == 4:
				m.mtu = binary.NativeEndian.Uint32(value)
			}
		})
		return err == nil && b[0] == 0, err // AF_UNSPEC; messages of AF_BRIDGE concern the bridge port alone
	case typeNewAddr, typeDelAddr:
		if len(b) < addrSize {
			return false, errMessage
		}
		m.index = binary.NativeEndian.Uint32(b[4:])
		local := false
		err := attributes(b[addrSize:], func(kind uint16, value []byte) {
			if a, ok := netip.AddrFromSlice(value); ok && (kind == attrLocal || kind == attrAddress && !local) {
				m.addr, local = a.Unmap(), local || kind == attrLocal
			}
		})
		return err == nil && m.addr.IsValid(), err
	}
	return false, nil
}

func attributes(b []byte, each func(kind uint16, value []byte)) error {
	for len(b) >= attributeSize {
		size := int(binary.NativeEndian.Uint16(b))
		if size < attributeSize || size > len(b) {
			return errMessage
		}
		each(binary.NativeEndian.Uint16(b[2:])&attributeMask, b[attributeSize:size])
		b = b[min(len(b), (size+3)&^3):]
	}
	return nil
}

// maxName is the longest name of an interface (IFNAMSIZ without the terminating NUL).
const maxName = 15

// text returns the name in b up to its terminating NUL, or nothing if no interface can have that
// name.
func text(b []byte) []byte {
	for i, c := range b {
		switch {
		case c == 0:
			return b[:i]
		case i == maxName || c <= ' ' || c >= 0x7f:
			return nil
		}
	}
	return b
}

// appendDump appends a request for all links, or for all addresses.
func appendDump(b []byte, kind uint16, seq uint32) []byte {
	return appendRequest(b, kind, flagRequest|flagDump, seq, 0)
}

// appendLink appends a request for one link.
func appendLink(b []byte, index, seq uint32) []byte {
	return appendRequest(b, typeGetLink, flagRequest, seq, index)
}

func appendRequest(b []byte, kind, flags uint16, seq, index uint32) []byte {
	o := binary.NativeEndian
	b = o.AppendUint32(b, headerSize+linkSize) // field nlmsg_len of struct nlmsghdr
	b = o.AppendUint16(b, kind)                // field nlmsg_type of struct nlmsghdr
	b = o.AppendUint16(b, flags)               // field nlmsg_flags of struct nlmsghdr
	b = o.AppendUint32(b, seq)                 // field nlmsg_seq of struct nlmsghdr
	b = o.AppendUint32(b, 0)                   // field nlmsg_pid of struct nlmsghdr
	b = o.AppendUint32(b, 0)                   // fields ifi_family and ifi_type of struct ifinfomsg
	b = o.AppendUint32(b, index)               // field ifi_index of struct ifinfomsg
	b = o.AppendUint32(b, 0)                   // field ifi_flags of struct ifinfomsg
	return o.AppendUint32(b, 0)                // field ifi_change of struct ifinfomsg
}
