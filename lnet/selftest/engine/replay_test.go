package engine_test

import (
	"bytes"
	"testing"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnd/capture/capturetest"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
	lnetwire "ulnet/lnet/wire"
)

const recordings = "../../../lnd/capture/testdata/"

// replay plays the console and test clients of a recording against a node.
type replay struct {
	t       *testing.T
	node    *engine.Node
	self    nid.NID           // the recorded node that ours stands for
	lists   map[uint64][]byte // lists of destinations that the console sent, by their match bits
	replies map[uint64][]byte // recorded replies, by their match bits
	start   time.Time
	now     time.Duration
	said    int // replies that were compared
}

// TestReplay: our node answers recorded kernel consoles and test clients with the bytes of the
// recorded kernel node, but for counters, and for what a kernel leaves of an earlier reply.
func TestReplay(t *testing.T) {
	spec.Covers(t, "ST-20")
	for _, tt := range []struct {
		file, node string
		replies    int
	}{
		{"tcp-lst-ping.pcap", "10.77.0.11@tcp", 8},
		{"captures2/tcp-lst-console.pcap.gz", "10.88.0.3@tcp", 32},
		{"captures2/tcp-lst-two-consoles.pcap.gz", "10.88.0.2@tcp", 5},
		{"captures2/tcp-lst-two-consoles.pcap.gz", "10.88.0.3@tcp", 4},
		{"captures2/tcp-mr-two-rails.pcap.gz", "10.88.0.3@tcp", 4},
		{"captures2/tcp-route-basic-near.pcap.gz", "10.89.0.6@tcp1", 11},
		{"captures2/tcp-health-local-dropped.pcap.gz", "10.88.0.3@tcp", 10},
	} {
		r := &replay{t: t, self: nid.MustParse(tt.node), lists: map[uint64][]byte{}, replies: map[uint64][]byte{}}
		var err error
		if r.node, err = engine.NewNode(engine.Config{FirstID: 1 << 48}); err != nil {
			t.Fatal(err)
		}
		own := ownSessions[tt.file+tt.node]
		var list []*capture.Record
		capturetest.Decode(t, recordings+tt.file, func(c *capture.Record) { list = append(list, c.Clone()) })
		r.collect(list)
		requests := 0
		for _, c := range list {
			if requests == own.after && own.request != nil {
				r.request(nid.ProcessID{NID: r.self}, wire.MakeSessionService, own.request)
				own.request = nil
			}
			if portal, ok := c.Portal(); ok && c.Header.Type == lnetwire.Put && c.Header.DestNID == r.self && (portal == wire.TestPortal || portal == wire.FrameworkPortal) {
				requests++
				r.now = c.Time.Sub(r.start)
				r.request(nid.ProcessID{NID: c.Header.SrcNID, PID: c.Header.SrcPID}, wire.Service(c.Header.Put().MatchBits), c.Payload)
			}
		}
		if r.said < tt.replies {
			t.Errorf("%s, %v: %d replies were compared, want %d", tt.file, r.self, r.said, tt.replies)
		}
	}
}

// collect remembers what the others sent to the node or got from it.
func (r *replay) collect(list []*capture.Record) {
	gets := map[lnetwire.MDHandle]uint64{}
	for _, c := range list {
		if c.Kind != capture.Message {
			continue
		}
		if r.start.IsZero() {
			r.start = c.Time
		}
		switch c.Header.Type {
		case lnetwire.Put:
			if put := c.Header.Put(); put.Portal == wire.BulkPortal && c.Header.SrcNID == r.self && len(c.Payload) == wire.MessageSize {
				r.replies[put.MatchBits] = c.Payload
			}
		case lnetwire.Get:
			gets[c.Header.Get().ReturnMD] = c.Header.Get().MatchBits
		case lnetwire.Reply:
			if bits, ok := gets[c.Header.Reply().DstMD]; ok {
				r.lists[bits] = c.Payload
			}
		}
	}
}

// request gives the node a request, and carries out what follows. RPCs of the node as client
// do not end.
func (r *replay) request(from nid.ProcessID, service wire.Service, data []byte) {
	r.step(engine.Input{Kind: engine.Arrived, Peer: from, Self: r.self, Service: service, Data: data})
}

func (r *replay) step(in engine.Input) {
	var out engine.Output
	r.node.Step(r.now, in, &out)
	for _, e := range out.Effects {
		switch e.Kind {
		case engine.DoReply:
			r.compare(e.Bits, e.Data)
		case engine.DoPut, engine.DoGet:
			r.step(engine.Input{Kind: engine.Moved, ID: e.ID, Data: r.lists[e.Bits]})
		}
	}
}

// compare compares a reply with the recorded one.
func (r *replay) compare(bits uint64, ours []byte) {
	theirs, ok := r.replies[bits]
	if !ok {
		return // the request was made up, or its reply is not in the recording
	}
	r.said++
	a, errA := wire.ParseMessage(ours)
	b, errB := wire.ParseMessage(theirs)
	if errA != nil || errB != nil {
		r.t.Fatal(errA, errB)
	}
	for _, m := range []*wire.Message{&a, &b} {
		switch body := m.Body.(type) {
		case *wire.StatReply:
			body.Framework, body.RPC, body.LNet = wire.FrameworkStats{}, wire.RPCStats{}, wire.LNetStats{}
		case *wire.BatchReply:
			body.Active = 0 // depends on how quick the node's own RPCs are
		case *wire.MakeSessionReply:
			if m.Status == wire.OK {
				body.Name = "" // kernels leave the name of an earlier reply
			}
		}
	}
	x, _ := a.AppendBinary(nil)
	y, _ := b.AppendBinary(nil)
	if !bytes.Equal(x, y) {
		r.t.Errorf("%v of rpc %#x:\n%v %+v, the kernel\n%v %+v", a.Type, bits, a.Status, a.Body, b.Status, b.Body)
	}
}

// ownSessions are MAKE_SESSION requests of recorded consoles to their own node, by file and node.
// A kernel sends them to itself without a message.
var ownSessions = map[string]struct {
	after   int // recorded requests before it
	request []byte
}{
	"captures2/tcp-lst-two-consoles.pcap.gz10.88.0.2@tcp": {0, ownSession("10.88.0.2@tcp", 677414, "one")},
	"captures2/tcp-lst-two-consoles.pcap.gz10.88.0.3@tcp": {1, ownSession("10.88.0.3@tcp", 2238231, "two")},
}

// ownSession encodes a MAKE_SESSION request that takes the node by force.
func ownSession(console string, stamp int64, name string) []byte {
	body := &wire.MakeSession{Session: wire.Session{Console: nid.MustParse(console), Stamp: stamp}, Force: true, Name: name}
	b, err := (&wire.Message{Header: wire.Header{Features: 1}, Body: body}).AppendBinary(nil)
	if err != nil {
		panic(err)
	}
	return b
}
