package engine_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/recording"
	"ulnet/lnet/selftest/wire"
	lnetwire "ulnet/lnet/wire"
)

// The directories of the recordings: that of package lnd/capture, and that of the tests of the console.
const (
	recordings        = "../../../lnd/capture/testdata/"
	consoleRecordings = "../console/engine/testdata/"
)

// replay lets our node take the place of one node of a recording, and plays all other nodes of it.
type replay struct {
	t     *testing.T
	node  *engine.Node
	self  []nid.NID           // NIDs of the recorded node that ours stands for
	rails map[nid.NID]nid.NID // the first NID of a node with several NIDs, by each of its further NIDs
	now   time.Duration
	own   []ownRequest // requests that the recorded console made to the node it ran on, which the replay has still to make
	sent  int          // number of requests of the recorded node to which the replay has come

	// Effects of our node whose messages have not been compared yet, because the replay has not come to
	// the recorded ones; maps are by match bits.
	replies    map[uint64]engine.Effect // effects DoReply
	moves      map[uint64]engine.Effect // effects DoPut and DoGet
	calls      []engine.Effect          // effects DoCall, in order
	sentCalls  map[uint64]engine.Effect // RPCs of our node whose request was compared, by the match bits of the reply and of the bulk data
	getting    map[uint64]engine.Effect // effects DoGet whose GET was recorded
	ownReplies []wire.Message
	differ     recording.Differences
	seen       counts
}

// counts are the recorded messages that were compared with those of our node.
type counts struct{ replies, calls, moves, stats int }

func has(list []nid.NID, id nid.NID) bool { return slices.Contains(list, id) }

// first returns the first NID of the node that a NID belongs to.
func (r *replay) first(id nid.NID) nid.NID {
	if to, ok := r.rails[id]; ok {
		return to
	}
	return id
}

// role is a node of a recording.
type role struct {
	file string
	self []string // NIDs of the node
	want counts
	own  []ownRequest // requests of the recorded console to its own node; nil: see ownRequests
}

// rails maps the further NIDs of the recorded nodes that have several NIDs to the node's first NID.
var rails = map[nid.NID]nid.NID{
	nid.MustParse("10.89.0.2@tcp"): nid.MustParse("10.88.0.2@tcp"), nid.MustParse("10.89.0.3@tcp"): nid.MustParse("10.88.0.3@tcp"),
	nid.MustParse("10.88.0.102@tcp"): nid.MustParse("10.88.0.2@tcp"), nid.MustParse("10.88.0.103@tcp"): nid.MustParse("10.88.0.3@tcp"),
}

var (
	ten, eleven = []string{"10.77.0.10@tcp"}, []string{"10.77.0.11@tcp"}
	endA, endB  = []string{"10.88.0.5@tcp"}, []string{"10.89.0.6@tcp1"}
	two, three  = []string{"10.88.0.2@tcp", "10.88.0.102@tcp", "10.89.0.2@tcp"}, []string{"10.88.0.3@tcp", "10.88.0.103@tcp", "10.89.0.3@tcp"}
)

// roles are all nodes of all recordings that have messages of selftest, but for tcp-err-put-noportal,
// whose node has no selftest.
func roles() (list []role) {
	add := func(file string, client, server []string, of, to counts) {
		list = append(list, role{file: file, self: client, want: of}, role{file: file, self: server, want: to})
	}
	add(recordings+"tcp-lst-ping.pcap", ten, eleven, counts{calls: 3}, counts{replies: 8, stats: 1})
	for _, op := range []string{"read", "write"} {
		for _, check := range []string{"full", "simple"} {
			for i, size := range []string{"4K", "64K", "1M"} {
				rpcs := []int{3, 3, 1}[i]
				file := consoleRecordings + "tcp-lst-brw-" + op + "-" + size + "-" + check + ".pcap.gz"
				add(file, ten, eleven, counts{calls: rpcs, moves: rpcs}, counts{replies: 5 + rpcs, moves: rpcs, stats: 1})
			}
		}
	}
	two3 := counts{replies: 13, moves: 3, stats: 3}
	add(consoleRecordings+"tcp-csum-v2-lst.pcap.gz", ten, eleven, counts{calls: 3, moves: 3}, two3)
	add(consoleRecordings+"tcp-csum-v3-lst.pcap.gz", ten, eleven, counts{calls: 2, moves: 2}, counts{replies: 7, moves: 2, stats: 1})
	two2 := counts{replies: 12, moves: 2, stats: 3}
	add(consoleRecordings+"tcp-proto-v1-lst.pcap.gz", ten, eleven, counts{calls: 2, moves: 2}, two2)
	add(consoleRecordings+"tcp-proto-v2-lst.pcap.gz", ten, eleven, counts{calls: 2, moves: 2}, two2)
	add(consoleRecordings+"o2ib-rxe-lst-brw-1M-write-64K-read.pcap.gz", []string{"10.88.0.2@o2ib"}, []string{"10.88.0.3@o2ib"}, counts{calls: 2, moves: 1}, two2)
	const second = recordings + "captures2/"
	add(second+"tcp-mr-two-rails.pcap.gz", two, three, counts{calls: 4, moves: 4}, counts{replies: 8, moves: 4})
	for _, side := range []string{"near", "far"} {
		add(second+"tcp-route-basic-"+side+".pcap.gz", endA, endB, counts{calls: 3, moves: 3}, counts{replies: 11, moves: 3, stats: 1})
	}
	add(second+"tcp-health-local-dropped.pcap.gz", two, three, counts{calls: 16}, counts{replies: 20})
	add(second+"tcp-health-remote-dropped.pcap.gz", two, three, counts{calls: 14}, counts{replies: 18})
	return append(
		list, role{second + "tcp-lst-console.pcap.gz", two, counts{replies: 2, calls: 295, moves: 6}, consoleA()},
		role{second + "tcp-lst-console.pcap.gz", three, counts{replies: 324, calls: 2, moves: 7, stats: 9}, []ownRequest{}},
		role{second + "tcp-lst-two-consoles.pcap.gz", two, counts{replies: 5}, consoleOne},
		role{second + "tcp-lst-two-consoles.pcap.gz", three, counts{replies: 4}, consoleTwo},
	)
}

// TestReplay: our node takes the place of each node of each recording, as test client, test server and member
// of a session. It must send the bytes that the recorded kernel node sent, but for the differences that
// package recording allows.
func TestReplay(t *testing.T) {
	spec.Covers(t, "ST-20")
	for _, r := range effort.Some(3, roles()) {
		t.Run(filepath.Base(r.file)+"/"+r.self[0], func(t *testing.T) { r.play(t) })
	}
}

func (p *role) play(t *testing.T) {
	list := recording.Read(t, p.file)
	r := &replay{
		t: t, rails: rails, own: p.own, replies: map[uint64]engine.Effect{}, moves: map[uint64]engine.Effect{},
		sentCalls: map[uint64]engine.Effect{}, getting: map[uint64]engine.Effect{}, differ: recording.Differences{Jitter: 100 * time.Millisecond},
	}
	for _, text := range p.self {
		r.self = append(r.self, nid.MustParse(text))
	}
	if r.own == nil {
		r.own = ownRequests(t, list, r.self)
	}
	var err error
	if r.node, err = engine.NewNode(engine.Config{FirstID: 1 << 48}); err != nil {
		t.Fatal(err)
	}
	r.askOwn()
	for i := range list {
		m := &list[i]
		r.now = m.At
		switch {
		case has(r.self, m.To.NID):
			r.arrive(m)
		case has(r.self, m.From.NID):
			r.leave(m)
		}
	}
	r.over()
	r.seen.stats = r.differ.Samples
	if r.seen != p.want {
		t.Errorf("compared %+v, want %+v", r.seen, p.want)
	}
}

// arrive gives our node a message that the recorded one got.
func (r *replay) arrive(m *recording.Message) {
	switch {
	case m.IsRequest():
		r.differ.Substitute(m.Data)
		r.step(engine.Input{Kind: engine.Arrived, Peer: m.From, Self: m.To.NID, Service: wire.Service(m.Bits), Data: m.Data})
	case m.Kind == lnetwire.Put:
		call, ok := r.call(m.Bits)
		switch {
		case !ok:
		case call.ID == r.differ.Own(m.Bits):
			r.step(engine.Input{Kind: engine.Replied, ID: call.ID, Data: m.Data})
		default:
			r.moved(&call, m)
		}
	case m.Kind == lnetwire.Get && !m.Answered:
		if call, ok := r.call(m.Bits); ok {
			r.step(engine.Input{Kind: engine.Bulk, ID: call.ID})
		}
	case m.Kind == lnetwire.Reply:
		if e, ok := r.getting[m.Bits]; ok {
			r.got(&e, m)
		}
	}
}

// leave compares a message that the recorded node sent with what our node wants sent.
func (r *replay) leave(m *recording.Message) {
	switch {
	case m.IsRequest():
		r.sent++
		if m.Portal == wire.TestPortal {
			r.compareCall(m)
		}
		r.askOwn()
	case m.Kind == lnetwire.Reply:
		if call, ok := r.call(m.Bits); ok {
			r.compareData(&call, m)
			r.step(engine.Input{Kind: engine.Bulk, ID: call.ID})
		}
	case m.Kind == lnetwire.Put && len(m.Data) == wire.MessageSize:
		r.compareReply(m)
	default:
		r.compareMove(m)
	}
}

// step steps the node, and carries out what follows: messages leave at once.
func (r *replay) step(in engine.Input) {
	var out engine.Output
	r.node.Step(r.now, in, &out)
	for _, e := range out.Effects {
		switch e.Kind {
		case engine.DoReply:
			if e.Peer.NID == r.self[0] {
				r.ownReply(e.Data)
				continue
			}
			r.replies[e.Bits] = e
		case engine.DoPut, engine.DoGet:
			r.moves[e.Bits] = e
			if e.Kind == engine.DoPut {
				r.step(engine.Input{Kind: engine.Moved, ID: e.ID})
			}
		case engine.DoCall:
			r.calls = append(r.calls, e)
			r.step(engine.Input{Kind: engine.Sent, ID: e.ID})
		case engine.DoUnpost, engine.DoCancel:
			r.t.Errorf("our node withdraws memory: %+v", e)
		}
	}
}
