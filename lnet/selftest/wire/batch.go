package wire

import "fmt"

// BatchOp is what a Batch request asks for.
type BatchOp uint32

// The operations on batches.
const (
	RunBatch   BatchOp = 1 // start all tests of the batch
	StopBatch  BatchOp = 2 // stop all tests of the batch
	QueryBatch BatchOp = 3 // count the tests that run, or the units of a test
)

// String returns "run", "stop", "query", or "operation 7".
func (o BatchOp) String() string {
	switch o {
	case RunBatch:
		return "run"
	case StopBatch:
		return "stop"
	case QueryBatch:
		return "query"
	}
	return fmt.Sprintf("operation %d", uint32(o))
}

// Batch is a request about a batch, which is a set of tests that run together.
//
//	off  size  field
//	 24   8    reply id
//	 32  16    session
//	 48   8    batch
//	 56   4    operation
//	 60   4    test
//	 64   4    argument
type Batch struct {
	Session  Session // the session of the batch
	Batch    uint64  // number of the batch
	Op       BatchOp // what to do
	Test     int32   // QueryBatch: number of a test on the node, from 1 on; 0: the batch
	Argument uint32  // RunBatch: a time-out, which nodes ignore; StopBatch: 1 aborts RPCs under way
}

// BatchReply is the reply to Batch.
//
//	off  size  field
//	 24   4    status
//	 28  16    session
//	 44   4    active
//	 48   4    time
type BatchReply struct {
	Session Session // the session that the node has
	Active  uint32  // QueryBatch: how many tests of the batch, or units of the test, are running
	Time    uint32  // not used
}

// Test is the request to add a test to a batch, as a client of the test or as its server.
//
//	off  size  field
//	 24   8    reply id
//	 32   8    bulk id
//	 40  16    session
//	 56   8    batch
//	 64   4    service
//	 68   4    loop
//	 72   4    concurrency
//	 76   1    client
//	 77   1    stop on error
//	 78   4    destinations
//	 82  12    parameters
type Test struct {
	BulkID       uint64     // match bits under which a client gets the list of destinations
	Session      Session    // the session of the batch
	Batch        uint64     // number of the batch
	Service      Service    // BRWService or PingService
	Loop         int32      // client: RPCs of each unit, negative without end; server: buffers that it needs
	Concurrency  uint32     // units per destination
	Client       bool       // the node sends requests; false: it serves them
	StopOnError  bool       // a unit stops at its first RPC that fails
	Destinations uint32     // client: length of the list
	BRW          BRWParams  // parameters of BRWService
	Ping         PingParams // parameters of PingService
}

// BRWParams are the parameters of a BRW test. With the feature BulkLength they are
//
//	off  size  field
//	 82   2    operation
//	 84   2    check
//	 86   4    length
//	 90   4    offset
//
// and without it
//
//	82   4    operation
//	86   4    pages
//	90   4    check
type BRWParams struct {
	Op     BRWOp  `json:"op"`               // READ or WRITE
	Check  Check  `json:"check"`            // how much of the data is checked
	Length uint32 `json:"length,omitempty"` // with BulkLength: bytes per RPC
	Offset uint32 `json:"offset,omitempty"` // with BulkLength: offset of the data in the first page of the client's memory
	Pages  uint32 `json:"pages,omitempty"`  // without BulkLength: pages per RPC, of the node that runs the test
}

// PingParams are the parameters of a PING test; kernel consoles send zeros.
//
//	off  size  field
//	 82   4    size
//	 86   4    flags
type PingParams struct {
	Size  uint32 // not used
	Flags uint32 // not used
}

// TestReply is the reply to Test.
//
//	off  size  field
//	 24   4    status
//	 28  16    session
type TestReply struct {
	Session Session // the session that the node has
}

// Type implements Body.
func (*Batch) Type() Type { return TypeBatch }

// Type implements Body.
func (*BatchReply) Type() Type { return TypeBatch.Reply() }

// Type implements Body.
func (*Test) Type() Type { return TypeTest }

// Type implements Body.
func (*TestReply) Type() Type { return TypeTest.Reply() }

func (m *Batch) fields(c *cursor, _ *Header) {
	c.session(&m.Session)
	field64(c, &m.Batch)
	field32(c, &m.Op)
	field32(c, &m.Test)
	field32(c, &m.Argument)
}

func (m *BatchReply) fields(c *cursor, _ *Header) {
	c.session(&m.Session)
	field32(c, &m.Active)
	field32(c, &m.Time)
}

func (m *Test) fields(c *cursor, h *Header) {
	field64(c, &m.BulkID)
	c.session(&m.Session)
	field64(c, &m.Batch)
	field32(c, &m.Service)
	field32(c, &m.Loop)
	field32(c, &m.Concurrency)
	flag8(c, &m.Client)
	flag8(c, &m.StopOnError)
	field32(c, &m.Destinations)
	switch {
	case m.Service == PingService:
		field32(c, &m.Ping.Size)
		field32(c, &m.Ping.Flags)
	case m.Service != BRWService:
	case h.Features&BulkLength != 0:
		half(c, &m.BRW.Op)
		half(c, &m.BRW.Check)
		field32(c, &m.BRW.Length)
		field32(c, &m.BRW.Offset)
	default:
		field32(c, &m.BRW.Op)
		field32(c, &m.BRW.Pages)
		field32(c, &m.BRW.Check)
	}
}

func (m *TestReply) fields(c *cursor, _ *Header) { c.session(&m.Session) }
