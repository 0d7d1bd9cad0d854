package portals_test

import (
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// TestForgedAnswer (PT-32): an ACK or REPLY counts only if it comes from the node to which
// the request was sent, from any of its NIDs, and from the same process there. An answer of
// another process is dropped, writes nothing, and does not prevent the right answer from
// being taken.
func TestForgedAnswer(t *testing.T) {
	spec.Covers(t, "PT-32")
	user := nid.ProcessID{NID: there.NID, PID: nid.UserPID | 7}
	for name, c := range map[string]struct {
		by    nid.ProcessID
		taken bool
	}{
		"the process that was asked":      {there, true},
		"another NID of its node":         {beside, true},
		"another node":                    {stranger, false},
		"another process of its NID":      {user, false},
		"another process, under its PID":  {nid.ProcessID{NID: stranger.NID, PID: there.PID}, false},
		"another NID and another process": {nid.ProcessID{NID: beside.NID, PID: user.PID}, false},
	} {
		t.Run(name, func(t *testing.T) {
			table, net := newWire(t)
			table.Node().SetPeer(lnet.Peer{Primary: there.NID, NIs: []wire.NIStatus{{NID: there.NID}, {NID: beside.NID}}})
			memory := make([]byte, 8)
			get := getting([]lnd.Segment{memory})(t, table, net)
			put := putting([]lnd.Segment{make([]byte, 8)}, true)(t, table, net)
			answers := []wire.Header{replyHeader(8, handle(get)), ackHeader(handle(put), 8)}
			drops := map[string]uint64{}
			for i, h := range answers {
				net.mustArrive(t, from(c.by, h))
				if !c.taken {
					drops["not asked"] = uint64(i + 1)
				}
			}
			wantDrops(t, table, drops)
			if written := memory[0] != 0; written != c.taken {
				t.Errorf("REPLY stored: %v, want %v", written, c.taken)
			}
			for _, h := range answers {
				net.mustArrive(t, h)
			}
			if c.taken {
				drops["inactive MD"] = 2 // the second answer of a process is dropped, because the MD awaits no answer any more
			}
			wantDrops(t, table, drops)
			if memory[0] == 0 || table.Node().Stats().RecvCount != 2 {
				t.Error("the right answer was not taken")
			}
		})
	}
}

// ask starts a GET, or a PUT with ACK, whose message leaves.
func ask(t *testing.T, table *portals.Table, net *network, md portals.MDHandle, typ wire.MsgType, target nid.ProcessID) {
	t.Helper()
	var err error
	if typ == wire.Get {
		err = table.Get(portals.GetRequest{MD: md, Target: target})
	} else {
		err = table.Put(portals.PutRequest{MD: md, Ack: true, Target: target})
	}
	if err != nil {
		t.Fatal(err)
	}
	net.finalize(net.next(), nil)
}

// TestAnswersByKind: an MD takes from each process only as many ACKs, and only as many REPLYs,
// as it awaits from that process.
func TestAnswersByKind(t *testing.T) {
	table, net := newWire(t)
	md := bound([]lnd.Segment{make([]byte, 8)}, inf)(t, table, net)
	ask(t, table, net, md, wire.Get, there)
	ask(t, table, net, md, wire.Put, stranger)
	ask(t, table, net, md, wire.Put, stranger)
	reply, ack := replyHeader(8, handle(md)), ackHeader(handle(md), 8)
	for _, h := range []wire.Header{from(stranger, reply), ack} {
		net.mustArrive(t, h)
	}
	wantDrops(t, table, map[string]uint64{"not asked": 2})
	for _, h := range []wire.Header{reply, from(stranger, ack), from(stranger, ack)} {
		net.mustArrive(t, h)
	}
	wantDrops(t, table, map[string]uint64{"not asked": 2})
	net.mustArrive(t, reply)
	net.mustArrive(t, from(stranger, ack))
	wantDrops(t, table, map[string]uint64{"not asked": 2, "inactive MD": 2})
}

// TestFailedSendIsNotAsked: a PUT that did not leave awaits no answer, whether it requested
// an ACK or not; another PUT that did leave still awaits its ACK.
func TestFailedSendIsNotAsked(t *testing.T) {
	table, net := newWire(t)
	md := bound([]lnd.Segment{make([]byte, 8)}, inf)(t, table, net)
	ask(t, table, net, md, wire.Put, there)
	for _, r := range []portals.PutRequest{{MD: md, Target: there}, {MD: md, Ack: true, Target: stranger}} {
		if err := table.Put(r); err != nil {
			t.Fatal(err)
		}
		net.finalize(net.next(), syscall.EIO)
	}
	net.mustArrive(t, from(stranger, ackHeader(handle(md), 8)))
	wantDrops(t, table, map[string]uint64{"not asked": 1})
	net.mustArrive(t, ackHeader(handle(md), 8))
	wantDrops(t, table, map[string]uint64{"not asked": 1})
}

// TestAskedWithoutPID: a PUT or GET to a target without a PID is answered by the node's
// default process.
func TestAskedWithoutPID(t *testing.T) {
	table, net := newWire(t)
	md := bound([]lnd.Segment{make([]byte, 8)}, inf)(t, table, net)
	for _, pid := range []nid.PID{0, nid.PIDAny} {
		ask(t, table, net, md, wire.Put, nid.ProcessID{NID: there.NID, PID: pid})
		net.mustArrive(t, ackHeader(handle(md), 8))
	}
	if s := table.Node().Stats(); s.RecvCount != 2 {
		t.Errorf("dropped %v", s.DropReasons)
	}
}

// TestManyAsked: one MD sends requests to thousands of processes, and each answers once, in
// any order. No record of them is left afterwards.
func TestManyAsked(t *testing.T) {
	const n, each = 5000, 2
	table, net := newWire(t)
	table.TimeOneIn(0)
	md := bound([]lnd.Segment{make([]byte, 8)}, inf)(t, table, net)
	var answers []wire.Header
	for i := range n * each {
		id := nid.ProcessID{NID: nid.FromNumber(here.NID.Net(), uint32(0x0B000000+i%n)), PID: nid.LustrePID}
		typ, answer := wire.Put, ackHeader(handle(md), 8)
		if i%3 == 0 {
			typ, answer = wire.Get, replyHeader(8, handle(md))
		}
		ask(t, table, net, md, typ, id)
		answers = append(answers, from(id, answer))
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(answers), func(i, j int) { answers[i], answers[j] = answers[j], answers[i] })
	for _, h := range answers {
		net.mustArrive(t, h)
	}
	if s := table.Node().Stats(); s.RecvCount != n*each {
		t.Errorf("%d answers were taken, want %d; dropped %v", s.RecvCount, n*each, s.DropReasons)
	}
	net.mustArrive(t, answers[0])
	wantDrops(t, table, map[string]uint64{"inactive MD": 1})
}

// TestAnswersWithinTheNode: a node answers its own requests to itself, whichever of its NIDs
// and PIDs they name.
func TestAnswersWithinTheNode(t *testing.T) {
	table, net := newWire(t)
	if _, err := table.Node().AddNI(lo.Driver{}, lnd.Config{Net: nid.Lo0().Net()}); err != nil {
		t.Fatal(err)
	}
	h := &harness{Table: table, t: t}
	h.post(5, portals.Match{}, portals.MD{
		Segments: []lnd.Segment{make([]byte, 8)}, Threshold: inf, Options: portals.OpPut | portals.OpGet | portals.ManageRemote,
	})
	for _, target := range []nid.ProcessID{here, {NID: here.NID}, {NID: nid.Lo0(), PID: nid.PIDAny}, {NID: nid.Lo0(), PID: 777}} {
		var seen log
		md := h.bind(portals.MD{Segments: []lnd.Segment{make([]byte, 8)}, Threshold: 4, Handler: seen.handle})
		if err := table.Put(portals.PutRequest{MD: md, Ack: true, Target: target, Portal: 5}); err != nil {
			t.Fatal(err)
		}
		if err := table.Get(portals.GetRequest{MD: md, Target: target, Portal: 5}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"SEND", "ACK", "SEND", "REPLY!"}, seen.take()); diff != "" {
			t.Errorf("%v (-want +got):\n%s", target, diff)
		}
	}
	if m := net.next(); m != nil {
		t.Errorf("%v went by the network", m.Header.Type)
	}
}

// TestAnswerOverRails: a request to a multi-rail node names a NID that no NI here reaches.
// The request is sent to another NID of the node, which answers from there.
func TestAnswerOverRails(t *testing.T) {
	table, net := newWire(t)
	far := nid.MustParse("10.9.0.2@tcp9")
	table.Node().SetPeer(lnet.Peer{Primary: far, Flags: lnet.PeerMultiRail, NIs: []wire.NIStatus{{NID: far}, {NID: there.NID}}})
	md := bound([]lnd.Segment{make([]byte, 8)}, inf)(t, table, net)
	ask(t, table, net, md, wire.Get, nid.ProcessID{NID: far, PID: nid.LustrePID})
	net.mustArrive(t, replyHeader(8, handle(md)))
	if s := table.Node().Stats(); s.RecvCount != 1 {
		t.Errorf("dropped %v", s.DropReasons)
	}
}

// TestAnswerOverRDMA: an RDMA connection belongs to a whole node. An answer that comes over
// the connection may therefore name any process of that node as its source.
func TestAnswerOverRDMA(t *testing.T) {
	table, _ := newWire(t)
	rdma, peer := nid.MustParse("10.2.0.1@o2ib"), nid.MustParse("10.2.0.2@o2ib")
	net := &network{id: rdma}
	if _, err := table.Node().AddNI(net, lnd.Config{Net: rdma.Net()}); err != nil {
		t.Fatal(err)
	}
	md := bound([]lnd.Segment{make([]byte, 8)}, inf)(t, table, net)
	for _, pid := range []nid.PID{99, nid.LustrePID} {
		ask(t, table, net, md, wire.Get, nid.ProcessID{NID: peer, PID: 99})
		h := from(nid.ProcessID{NID: peer, PID: pid}, replyHeader(8, handle(md)))
		h.DestNID = rdma
		if err := net.arriveFrom(nid.ProcessID{NID: peer, PID: nid.LustrePID}, h, nil); err != nil {
			t.Fatal(err)
		}
	}
	if s := table.Node().Stats(); s.RecvCount != 2 {
		t.Errorf("dropped %v", s.DropReasons)
	}
}

// TestAskingAllocates: requests to one process or to several, and their answers, allocate
// nothing once an MD has sent such requests before.
func TestAskingAllocates(t *testing.T) {
	if effort.Race {
		t.Skip("sync.Pool drops values at random under the race detector")
	}
	table, net := newWire(t)
	table.TimeOneIn(0)
	net.whole = func() bool { return true } // the network makes no copy of the messages, which would be allocated
	for name, targets := range map[string][]nid.ProcessID{"one": {there, there}, "several": {there, beside, stranger}} {
		md := bound([]lnd.Segment{make([]byte, 8)}, inf)(t, table, net)
		d := new(lnd.Delivery)
		if n := testing.AllocsPerRun(100, func() {
			for _, id := range targets {
				ask(t, table, net, md, wire.Put, id)
			}
			for _, id := range targets {
				d.Header, d.From = from(id, ackHeader(handle(md), 8)), id
				if _, err := net.up.Parse(d); err != nil {
					t.Fatal(err)
				}
				net.up.Delivered(d, nil)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		wantDrops(t, table, map[string]uint64{})
	}
}

// TestAskedByAnotherMD: a process got a request of an MD that has ended since. Its answer is not taken for an
// answer to the MD that uses the same slot now.
func TestAskedByAnotherMD(t *testing.T) {
	table, net := newWire(t)
	gone := bound([]lnd.Segment{make([]byte, 8)}, inf)(t, table, net)
	ask(t, table, net, gone, wire.Put, there)
	if err := table.MDUnlink(gone); err != nil {
		t.Fatal(err)
	}
	md := bound([]lnd.Segment{make([]byte, 8)}, inf)(t, table, net)
	net.mustArrive(t, ackHeader(handle(gone), 8))
	net.mustArrive(t, ackHeader(handle(md), 8))
	wantDrops(t, table, map[string]uint64{"stale handle": 1, "inactive MD": 1})
}
