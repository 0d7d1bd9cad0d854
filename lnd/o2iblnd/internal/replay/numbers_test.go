package replay

import (
	"net/netip"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce"
)

// Numbers are the numbers that a recorded node chose, in the order in which it used them for the
// first time. A device that is given them (softroce.Numbers) takes PSNs, RKeys and IOVAs one after
// the other.
type Numbers struct {
	Stamp   uint64 // incarnation stamp of the node
	Adapter ibta.GUID
	CommIDs []ibta.CommID
	QPNs    []ibta.QPN
	PSNs    []ibta.PSN // first PSNs of the node's peers
	Cookies []uint64
	// RKeys and IOVAs are those of the memory regions of transfers, in order. They are 0 for a
	// transfer in which the node writes: no recording has the numbers of its own memory.
	RKeys []ibta.RKey
	IOVAs []uint64

	refused ibta.CommID // number of requests that the node refused before its first connection: each took a comm id
	spare   uint64
}

var _ softroce.Numbers = (*Numbers)(nil)

// Numbers returns the numbers that the given node chose in the recording: its queue pair numbers, first PSNs, cookies and
// the others that the type Numbers has.
func (s *Script) Numbers(node netip.Addr) *Numbers {
	n := &Numbers{}
	for i := range s.Packets {
		p := &s.Packets[i]
		own := p.From.Addr() == node
		if p.CM != nil && own {
			n.connection(p.CM)
		}
		if p.Msg != nil {
			n.message(p.Msg, own)
		}
	}
	return n
}

// connection notes the numbers in a CM message of the node.
func (n *Numbers) connection(c *CM) {
	switch c.MAD.Attribute {
	case ibta.AttrREQ:
		n.CommIDs = append(n.CommIDs, c.REQ.LocalID)
		n.QPNs, n.PSNs, n.Adapter = append(n.QPNs, c.REQ.QPN), append(n.PSNs, c.REQ.StartingPSN), c.REQ.LocalGUID
	case ibta.AttrREP:
		n.CommIDs = append(n.CommIDs, c.REP.LocalID)
		n.QPNs, n.PSNs, n.Adapter = append(n.QPNs, c.REP.QPN), append(n.PSNs, c.REP.StartingPSN), c.REP.LocalGUID
	case ibta.AttrREJ:
		if len(n.CommIDs) == 0 && c.Reject != nil {
			n.refused++
		}
	}
	if c.Msg != nil {
		n.Stamp = c.Msg.SrcStamp
	}
	if c.Reject != nil && c.Reject.Stamp != 0 {
		n.Stamp = c.Reject.Stamp
	}
}

// message notes the numbers in m. own says that the node has sent m.
func (n *Numbers) message(m *kib.Msg, own bool) {
	if own {
		n.Stamp = m.SrcStamp
	}
	switch m.Type {
	case kib.PutReq, kib.GetReq:
		if own {
			n.Cookies = append(n.Cookies, m.Cookie)
		}
		n.RKeys, n.IOVAs = append(n.RKeys, 0), append(n.IOVAs, 0)
	case kib.PutAck:
		if own {
			n.Cookies = append(n.Cookies, m.DstCookie)
		}
	}
	if own && (m.Type == kib.PutAck || m.Type == kib.GetReq) {
		last := len(n.RKeys) - 1 // index of the entry for this GET_REQ, or for the PUT_REQ that this PUT_ACK answers: the last one in all recordings
		if last < 0 {
			return
		}
		n.RKeys[last], n.IOVAs[last] = ibta.RKey(m.Desc.Key), m.Desc.Frag(0).Address
	}
}

// next takes the first value of a list. In place of 0, and when the list is used up, it returns
// values that are not recorded.
func next[T ibta.PSN | ibta.RKey | uint64](n *Numbers, list *[]T) T {
	var first T
	if len(*list) > 0 {
		first = (*list)[0]
		*list = (*list)[1:]
	}
	if first == 0 {
		n.spare++
		first = T(0x700000 + n.spare)
	}
	return first
}

// GUID returns the GUID of the adapter (softroce.Numbers).
func (n *Numbers) GUID() ibta.GUID { return n.Adapter }

// CommID returns the first comm id that the device is to use. It is lower than that of the first recorded
// connection, because each refused request before that connection takes one.
func (n *Numbers) CommID() ibta.CommID { return append(n.CommIDs, 1)[0] - n.refused }

// QPN returns the queue pair number of the first connection.
func (n *Numbers) QPN() ibta.QPN { return append(n.QPNs, 2)[0] }

// PSN returns the next recorded first PSN.
func (n *Numbers) PSN() ibta.PSN { return next(n, &n.PSNs) }

// RKey returns the next recorded remote key.
func (n *Numbers) RKey() ibta.RKey { return next(n, &n.RKeys) }

// Address returns the next recorded memory address.
func (n *Numbers) Address(uint64) uint64 { return next(n, &n.IOVAs) }
