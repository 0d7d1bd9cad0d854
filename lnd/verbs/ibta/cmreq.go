package ibta

import "encoding/binary"

// CommID names a connection at one of its ends.
type CommID uint32

// Sizes in bytes of the private data of CM messages.
const (
	REQPrivateSize  = 92
	REPPrivateSize  = 196
	REJPrivateSize  = 148
	MRAPrivateSize  = 222
	RTUPrivateSize  = 224
	DREQPrivateSize = 220
	DREPPrivateSize = 224
)

// REQ asks for a connection. Its attribute, with offsets into the 232 bytes:
//
//	 0  4  local comm id                 52 44  primary path, see PathRecord
//	 8  8  service id                    96 44  alternate path, the same
//	16  8  local CA GUID                140 92  private data
//	28  4  local Q_Key
//	32  3  local QPN                     43  b7-3 remote CM response timeout,
//	35  1  responder resources                b2-1 transport, b0 flow control
//	36  3  local EECN                    47  b7-3 local CM response timeout,
//	39  1  initiator depth                    b2-0 retry count
//	40  3  remote EECN                   50  b7-4 path MTU, b3 RDC exists,
//	44  3  starting PSN                       b2-0 RNR retry count
//	48  2  P_Key                         51  b7-4 max CM retries, b3 SRQ,
//	                                          b2-0 extended transport
type REQ struct {
	LocalID            CommID     // communication id of the sender
	ServiceID          ServiceID  // the service that is asked for
	LocalGUID          GUID       // GUID of the sender's adapter
	QKey               QKey       // 0 for reliable connections
	QPN                QPN        // queue pair of the sender
	ResponderResources uint8      // READs and atomics that the sender serves at a time
	EECN               uint32     // 0 for reliable connections
	InitiatorDepth     uint8      // READs and atomics that the sender has in flight
	RemoteEECN         uint32     // 0 for reliable connections
	RemoteTimeout      uint8      // CMTimeout code: how long the receiver has to answer
	Transport          uint8      // transport service; 0: reliable connection
	FlowControl        bool       // the sender counts end-to-end credits
	StartingPSN        PSN        // first PSN of the receiver's requests
	LocalTimeout       uint8      // CMTimeout code: how long the sender takes to answer
	RetryCount         uint8      // retries that the receiver is to make; 3 bits
	PKey               PKey       // key of the partition
	MTU                MTU        // path MTU that the receiver is to use
	RDC                bool       // reliable datagrams; false for reliable connections
	RNRRetryCount      uint8      // retries after RNR NAKs that the receiver is to make; 3 bits, 7: no limit
	MaxCMRetries       uint8      // most repetitions of a CM message; 4 bits
	SRQ                bool       // the sender has a shared receive queue
	ExtendedTransport  uint8      // 0 for reliable connections
	Primary            PathRecord // the path of the connection
	Alternate          PathRecord // alternate path; the zero value: none
	Private            []byte     // private data; after parsing all 92 bytes, a slice of the input
}

func (r *REQ) parse(b *[MADBodySize]byte) {
	r.LocalID = CommID(binary.BigEndian.Uint32(b[:]))
	r.ServiceID = ServiceID(binary.BigEndian.Uint64(b[8:]))
	r.LocalGUID = GUID(binary.BigEndian.Uint64(b[16:]))
	r.QKey = QKey(binary.BigEndian.Uint32(b[28:]))
	r.QPN, r.ResponderResources = QPN(uint24(b[32:])), b[35]
	r.EECN, r.InitiatorDepth = uint24(b[36:]), b[39]
	r.RemoteEECN = uint24(b[40:])
	r.RemoteTimeout, r.Transport, r.FlowControl = b[43]>>3, b[43]>>1&3, b[43]&1 != 0
	r.StartingPSN = PSN(uint24(b[44:]))
	r.LocalTimeout, r.RetryCount = b[47]>>3, b[47]&7
	r.PKey = PKey(binary.BigEndian.Uint16(b[48:]))
	r.MTU, r.RDC, r.RNRRetryCount = MTU(b[50]>>4), b[50]&8 != 0, b[50]&7
	r.MaxCMRetries, r.SRQ, r.ExtendedTransport = b[51]>>4, b[51]&8 != 0, b[51]&7
	r.Primary.parse(b[52:])
	r.Alternate.parse(b[96:])
	r.Private = b[140:]
}

// AppendTo appends the attribute. Private is filled up with zeros.
func (r *REQ) AppendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(r.LocalID))
	b = appendZeros(b, 4)
	b = binary.BigEndian.AppendUint64(b, uint64(r.ServiceID))
	b = binary.BigEndian.AppendUint64(b, uint64(r.LocalGUID))
	b = appendZeros(b, 4)
	b = binary.BigEndian.AppendUint32(b, uint32(r.QKey))
	b = append(appendUint24(b, uint32(r.QPN)), r.ResponderResources)
	b = append(appendUint24(b, r.EECN), r.InitiatorDepth)
	b = append(appendUint24(b, r.RemoteEECN), r.RemoteTimeout<<3|r.Transport&3<<1|bit(r.FlowControl, 0))
	b = append(appendUint24(b, uint32(r.StartingPSN)), r.LocalTimeout<<3|r.RetryCount&7)
	b = binary.BigEndian.AppendUint16(b, uint16(r.PKey))
	b = append(b, byte(r.MTU)<<4|bit(r.RDC, 3)|r.RNRRetryCount&7)
	b = append(b, r.MaxCMRetries<<4|bit(r.SRQ, 3)|r.ExtendedTransport&7)
	b = r.Primary.appendTo(b)
	b = r.Alternate.appendTo(b)
	return appendPrivate(b, r.Private, REQPrivateSize)
}

// PathRecord is one of the paths in a REQ. Its 44 bytes:
//
//	 0  2  local LID    36  flow label 20, reserved 6, packet rate 6
//	 2  2  remote LID   40  traffic class
//	 4 16  local GID    41  hop limit
//	20 16  remote GID   42  b7-4 SL, b3 subnet local
//	                    43  b7-3 local ACK timeout
type PathRecord struct {
	LocalLID     uint16 // LID of the sender's port; 0xFFFF over RoCE
	RemoteLID    uint16 // LID of the receiver's port; 0xFFFF over RoCE
	LocalGID     GID    // GID of the sender's port
	RemoteGID    GID    // GID of the receiver's port
	FlowLabel    uint32 // flow label of packets, 20 bits
	Rate         uint8  // 6 bits; 0 is what Linux sends for a device without a known speed
	TrafficClass uint8  // traffic class of packets (the TOS byte)
	HopLimit     uint8  // hop limit of packets
	SL           uint8  // service level, 4 bits
	SubnetLocal  bool   // both ports are in one subnet
	AckTimeout   uint8  // AckTimeout code that the receiver is to use
}

func (p *PathRecord) parse(b []byte) {
	_ = b[43]
	p.LocalLID, p.RemoteLID = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	p.LocalGID, p.RemoteGID = GID(b[4:20]), GID(b[20:36])
	label := binary.BigEndian.Uint32(b[36:])
	p.FlowLabel, p.Rate = label>>12, uint8(label&63)
	p.TrafficClass, p.HopLimit = b[40], b[41]
	p.SL, p.SubnetLocal = b[42]>>4, b[42]&8 != 0
	p.AckTimeout = b[43] >> 3
}

func (p *PathRecord) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, p.LocalLID)
	b = binary.BigEndian.AppendUint16(b, p.RemoteLID)
	b = append(append(b, p.LocalGID[:]...), p.RemoteGID[:]...)
	b = binary.BigEndian.AppendUint32(b, p.FlowLabel<<12|uint32(p.Rate&63))
	return append(b, p.TrafficClass, p.HopLimit, p.SL<<4|bit(p.SubnetLocal, 3), p.AckTimeout<<3)
}
