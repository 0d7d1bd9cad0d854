package ibta

import "encoding/binary"

// Sizes in bytes of the headers and of the ICRC.
const (
	BTHSize  = 12
	RETHSize = 16
	aethSize = 4
	DETHSize = 8
	immSize  = 4
	ICRCSize = 4
)

// BTH is the base transport header of every packet.
type BTH struct {
	OpCode    OpCode // says which headers follow
	Solicited bool   // solicited event: the receiver may want to be woken
	Migrated  bool   // bit MigReq (M), which has no meaning without an alternate path; we send true
	Pad       uint8  // number of zero bytes behind the payload: 0 to 3
	Version   uint8  // version of the header: 0; 4 bits
	PKey      PKey   // key of the partition
	FECN      bool   // forward congestion notification
	BECN      bool   // backward congestion notification
	DestQP    QPN    // queue pair of the receiver
	AckReq    bool   // the responder must acknowledge this packet
	PSN       PSN    // packet sequence number, 24 bits
}

// ParseBTH parses a BTH. The errors are ErrShort and ErrVersion; reserved
// bits are ignored.
func ParseBTH(b []byte) (h BTH, rest []byte, err error) {
	if len(b) < BTHSize {
		return BTH{}, b, ErrShort
	}
	h.OpCode = OpCode(b[0])
	h.Solicited, h.Migrated = b[1]&0x80 != 0, b[1]&0x40 != 0
	h.Pad, h.Version = b[1]>>4&3, b[1]&15
	h.PKey = PKey(binary.BigEndian.Uint16(b[2:]))
	h.FECN, h.BECN = b[4]&0x80 != 0, b[4]&0x40 != 0
	h.DestQP = QPN(uint24(b[5:]))
	h.AckReq = b[8]&0x80 != 0
	h.PSN = PSN(uint24(b[9:]))
	if h.Version != 0 {
		return h, b, ErrVersion
	}
	return h, b[BTHSize:], nil
}

// AppendTo appends the header in wire form.
func (h *BTH) AppendTo(b []byte) []byte {
	b = append(b, byte(h.OpCode), bit(h.Solicited, 7)|bit(h.Migrated, 6)|h.Pad&3<<4|h.Version&15)
	b = binary.BigEndian.AppendUint16(b, uint16(h.PKey))
	b = append(b, bit(h.FECN, 7)|bit(h.BECN, 6))
	b = appendUint24(b, uint32(h.DestQP))
	b = append(b, bit(h.AckReq, 7))
	return appendUint24(b, uint32(h.PSN))
}

func bit(is bool, n uint) byte {
	if is {
		return 1 << n
	}
	return 0
}

// RETH says where an RDMA WRITE goes. It is in the first packet of the WRITE.
type RETH struct {
	Address uint64 // address in the responder's memory region
	RKey    RKey   // key of the region to write to
	Length  uint32 // bytes of the whole message
}

// parseRETH parses a RETH. The error is ErrShort.
func parseRETH(b []byte) (r RETH, rest []byte, err error) {
	if len(b) < RETHSize {
		return RETH{}, b, ErrShort
	}
	r.Address = binary.BigEndian.Uint64(b)
	r.RKey = RKey(binary.BigEndian.Uint32(b[8:]))
	r.Length = binary.BigEndian.Uint32(b[12:])
	return r, b[RETHSize:], nil
}

// AppendTo appends the header in wire form.
func (r RETH) AppendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, r.Address)
	b = binary.BigEndian.AppendUint32(b, uint32(r.RKey))
	return binary.BigEndian.AppendUint32(b, r.Length)
}

// AETH is the header with a responder's answer.
type AETH struct {
	Syndrome Syndrome // kind of the answer: ACK, RNR NAK or NAK
	MSN      uint32   // number of completed messages, 24 bits
}

// parseAETH parses an AETH. The error is ErrShort.
func parseAETH(b []byte) (a AETH, rest []byte, err error) {
	if len(b) < aethSize {
		return AETH{}, b, ErrShort
	}
	return AETH{Syndrome(b[0]), uint24(b[1:])}, b[aethSize:], nil
}

// AppendTo appends the header in wire form.
func (a AETH) AppendTo(b []byte) []byte { return appendUint24(append(b, byte(a.Syndrome)), a.MSN) }

// DETH is the header that every datagram has.
type DETH struct {
	QKey  QKey // Q_Key that the destination has to have
	SrcQP QPN  // queue pair of the sender
}

// parseDETH parses a DETH. The error is ErrShort.
func parseDETH(b []byte) (d DETH, rest []byte, err error) {
	if len(b) < DETHSize {
		return DETH{}, b, ErrShort
	}
	return DETH{QKey(binary.BigEndian.Uint32(b)), QPN(uint24(b[5:]))}, b[DETHSize:], nil
}

// AppendTo appends the header in wire form.
func (d DETH) AppendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(d.QKey))
	return appendUint24(append(b, 0), uint32(d.SrcQP))
}
