package ibta

import "encoding/binary"

// REP grants a connection. Its attribute:
//
//	 0  4  local comm id          24  responder resources
//	 4  4  remote comm id         25  initiator depth
//	 8  4  Q_Key                  26  b7-3 target ACK delay, b2-1 failover,
//	12  3  local QPN                   b0 flow control
//	16  3  local EECN             27  b7-5 RNR retry count, b4 SRQ
//	20  3  starting PSN           28  8  local CA GUID
//	                              36  196  private data
type REP struct {
	LocalID, RemoteID  CommID // communication ids of the sender and the receiver
	QKey               QKey   // 0 for reliable connections
	QPN                QPN    // queue pair of the sender
	EECN               uint32 // 0 for reliable connections
	StartingPSN        PSN    // first PSN of the receiver's requests
	ResponderResources uint8  // RDMA READs that the sender can serve at a time
	InitiatorDepth     uint8  // most RDMA READs that the sender has in flight
	AckDelay           uint8  // delay of the sender's ACKs, as AckTimeout code
	Failover           uint8  // failover: 0 accepted, 1 not supported, 2 refused
	FlowControl        bool   // the sender counts end-to-end credits
	RNRRetryCount      uint8  // retries after RNR NAKs that the receiver is to make; 3 bits, 7: no limit
	SRQ                bool   // the sender has a shared receive queue
	LocalGUID          GUID   // GUID of the sender's adapter
	Private            []byte // private data; after parsing all 196 bytes, a slice of the input
}

func (r *REP) parse(b *[MADBodySize]byte) {
	r.LocalID, r.RemoteID = commIDs(b[:])
	r.QKey = QKey(binary.BigEndian.Uint32(b[8:]))
	r.QPN, r.EECN, r.StartingPSN = QPN(uint24(b[12:])), uint24(b[16:]), PSN(uint24(b[20:]))
	r.ResponderResources, r.InitiatorDepth = b[24], b[25]
	r.AckDelay, r.Failover, r.FlowControl = b[26]>>3, b[26]>>1&3, b[26]&1 != 0
	r.RNRRetryCount, r.SRQ = b[27]>>5, b[27]&16 != 0
	r.LocalGUID = GUID(binary.BigEndian.Uint64(b[28:]))
	r.Private = b[36:]
}

// AppendTo appends the attribute. Private is filled up with zeros.
func (r *REP) AppendTo(b []byte) []byte {
	b = appendIDs(b, r.LocalID, r.RemoteID)
	b = binary.BigEndian.AppendUint32(b, uint32(r.QKey))
	b = append(appendUint24(b, uint32(r.QPN)), 0)
	b = append(appendUint24(b, r.EECN), 0)
	b = append(appendUint24(b, uint32(r.StartingPSN)), 0)
	b = append(b, r.ResponderResources, r.InitiatorDepth)
	b = append(b, r.AckDelay<<3|r.Failover&3<<1|bit(r.FlowControl, 0))
	b = append(b, r.RNRRetryCount<<5|bit(r.SRQ, 4))
	b = binary.BigEndian.AppendUint64(b, uint64(r.LocalGUID))
	return appendPrivate(b, r.Private, REPPrivateSize)
}

// Rejected says which message a REJ or MRA answers.
type Rejected uint8

// Messages that a REJ or MRA answers.
const (
	RejectedREQ   Rejected = 0
	RejectedREP   Rejected = 1
	RejectedOther Rejected = 2 // in an MRA: the message is a LAP
)

// REJ refuses a connection. Its attribute:
//
//	0  4  local comm id, 0 for none    10  2  reason
//	4  4  remote comm id               12 72  more about the reason
//	8  b7-6 message rejected           84 148 private data
//	9  b7-1 length of the part at 12
type REJ struct {
	LocalID, RemoteID CommID       // communication ids of the sender and the receiver
	Rejected          Rejected     // the message that is refused
	InfoLength        uint8        // number of bytes in Info; 7 bits
	Reason            RejectReason // reason for the rejection
	Info              [72]byte     // information whose meaning depends on Reason
	Private           []byte       // private data; after parsing all 148 bytes, a slice of the input
}

func (r *REJ) parse(b *[MADBodySize]byte) {
	r.LocalID, r.RemoteID = commIDs(b[:])
	r.Rejected, r.InfoLength = Rejected(b[8]>>6), b[9]>>1
	r.Reason = RejectReason(binary.BigEndian.Uint16(b[10:]))
	r.Info = [72]byte(b[12:])
	r.Private = b[84:]
}

// AppendTo appends the attribute. Private is filled up with zeros.
func (r *REJ) AppendTo(b []byte) []byte {
	b = appendIDs(b, r.LocalID, r.RemoteID)
	b = append(b, byte(r.Rejected)<<6, r.InfoLength<<1)
	b = binary.BigEndian.AppendUint16(b, uint16(r.Reason))
	b = append(b, r.Info[:]...)
	return appendPrivate(b, r.Private, REJPrivateSize)
}

// commIDs reads the ids of the sender and of the receiver, with which all CM messages begin
// except a REQ.
func commIDs(b []byte) (local, remote CommID) {
	return CommID(binary.BigEndian.Uint32(b)), CommID(binary.BigEndian.Uint32(b[4:]))
}

func appendIDs(b []byte, local, remote CommID) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(local))
	return binary.BigEndian.AppendUint32(b, uint32(remote))
}
