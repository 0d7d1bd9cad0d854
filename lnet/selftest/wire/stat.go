package wire

// Stat is the request for the counters of a node.
//
//	off  size  field
//	 24   8    reply id
//	 32  16    session
//	 48   4    kind
type Stat struct {
	Session Session // the session that the node must have
	Kind    uint32  // 0
}

// StatReply is the reply to Stat. It fills the message.
//
//	off  size  field
//	 24   4    status
//	 28  16    session
//	 44  20    framework: running time, batches, zombie sessions, BRW errors, PING errors
//	 64  20    RPC: errors, sent, received, dropped, expired
//	 84  16    RPC: bytes got, bytes put; 8 bytes each
//	100  28    LNet: messages, their maximum, errors, sent, received, routed, dropped
//	128  32    LNet: lengths sent, received, routed, dropped; 8 bytes each
type StatReply struct {
	Session   Session        // the session that the node has
	Framework FrameworkStats // counters of the session
	RPC       RPCStats       // counters of RPCs since the node's start
	LNet      LNetStats      // counters of LNet since the node's start
}

// FrameworkStats are the counters of a session at a node, of 4 bytes each.
type FrameworkStats struct {
	Running    uint32 // milliseconds since the node has the session
	Batches    uint32 // number of batches that run
	Zombies    uint32 // earlier sessions whose tests have not ended yet
	BRWErrors  uint32 // BRW RPCs with wrong data or a status, as client
	PingErrors uint32 // PING RPCs with a wrong answer or a status, as client
}

// RPCStats are the counters of a node's RPCs.
type RPCStats struct {
	Errors   uint32 // RPCs that failed for a reason of the network
	Sent     uint32 // requests that the node has sent
	Received uint32 // requests that have arrived, including this one
	Dropped  uint32 // requests received and not answered
	Expired  uint32 // RPCs without a reply in time
	BulkGet  uint64 // bytes that the node has got as server
	BulkPut  uint64 // bytes that the node has put as server
}

// LNetStats are the counters of LNet at a node.
type LNetStats struct {
	Messages      uint32 // messages under way
	MostMessages  uint32 // largest number of messages that were under way at one time
	Errors        uint32 // sends that failed
	Sent          uint32 // messages sent
	Received      uint32 // messages received, including this request
	Routed        uint32 // messages forwarded
	Dropped       uint32 // messages dropped
	SentBytes     uint64 // payloads of PUTs and REPLYs sent, in bytes
	ReceivedBytes uint64 // payloads of PUTs and REPLYs received, in bytes
	RoutedBytes   uint64 // payloads forwarded, in bytes
	DroppedBytes  uint64 // payloads dropped, in bytes
}

// Type implements Body.
func (*Stat) Type() Type { return TypeStat }

// Type implements Body.
func (*StatReply) Type() Type { return TypeStat.Reply() }

func (m *Stat) fields(c *cursor, _ *Header) {
	c.session(&m.Session)
	field32(c, &m.Kind)
}

func (m *StatReply) fields(c *cursor, _ *Header) {
	c.session(&m.Session)
	f, r, l := &m.Framework, &m.RPC, &m.LNet
	for _, v := range []*uint32{&f.Running, &f.Batches, &f.Zombies, &f.BRWErrors, &f.PingErrors} {
		field32(c, v)
	}
	for _, v := range []*uint32{&r.Errors, &r.Sent, &r.Received, &r.Dropped, &r.Expired} {
		field32(c, v)
	}
	field64(c, &r.BulkGet)
	field64(c, &r.BulkPut)
	for _, v := range []*uint32{&l.Messages, &l.MostMessages, &l.Errors, &l.Sent, &l.Received, &l.Routed, &l.Dropped} {
		field32(c, v)
	}
	for _, v := range []*uint64{&l.SentBytes, &l.ReceivedBytes, &l.RoutedBytes, &l.DroppedBytes} {
		field64(c, v)
	}
}
