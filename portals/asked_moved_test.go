package portals_test

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// A multi-rail node restarts, and tells this node. Until discovery has confirmed its NIDs, it knows each of them as that of
// a node of its own. Answers to earlier requests come meanwhile.

// together makes discovery know NIDs as those of one multi-rail node, apart as those of a node each.
func together(table *portals.Table, ids ...nid.NID) {
	p := lnet.Peer{Primary: ids[0], Flags: lnet.PeerMultiRail}
	for _, id := range ids {
		p.NIs = append(p.NIs, wire.NIStatus{NID: id})
	}
	table.Node().SetPeer(p)
}

func apart(table *portals.Table, ids ...nid.NID) {
	for _, id := range ids {
		together(table, id)
	}
}

// TestAnswerOfMovedNID: a request goes to another NID of the node that it names, and its answer comes from there. Meanwhile discovery
// has learned that the node has started anew, and does not know yet that this NID is still one of its own. The answer
// counts; one from an NID to which the request did not go does not.
func TestAnswerOfMovedNID(t *testing.T) {
	spec.Covers(t, "PT-32")
	for _, timeout := range []time.Duration{0, time.Minute} {
		table, net := newWire(t)
		far := nid.ProcessID{NID: nid.MustParse("10.9.0.2@tcp9"), PID: nid.LustrePID}
		together(table, far.NID, there.NID)
		md := bound([]lnd.Segment{make([]byte, 8)}, inf)(t, table, net)
		if err := table.Put(portals.PutRequest{MD: md, Ack: true, Target: far, Timeout: timeout}); err != nil {
			t.Fatal(err)
		}
		m := net.next()
		ack := ackHeader(m.Header.Put().AckMD, 8)
		net.finalize(m, nil)
		apart(table, there.NID, beside.NID)
		net.mustArrive(t, from(nid.ProcessID{NID: beside.NID, PID: nid.LustrePID}, ack))
		wantDrops(t, table, map[string]uint64{"not asked": 1})
		net.mustArrive(t, from(nid.ProcessID{NID: there.NID, PID: nid.LustrePID}, ack))
		wantDrops(t, table, map[string]uint64{"not asked": 1})
	}
}

// TestAnswersOfMovedNIDs: requests of one MD go to several NIDs of a node that the requests do not name. An answer from each
// counts while discovery does not know whose NIDs these are, also if a later request has not left.
func TestAnswersOfMovedNIDs(t *testing.T) {
	spec.Covers(t, "PT-32")
	table, net := newWire(t)
	table.TimeOneIn(0)
	far := nid.ProcessID{NID: nid.MustParse("10.9.0.2@tcp9"), PID: nid.LustrePID}
	together(table, far.NID, there.NID, beside.NID)
	md := bound([]lnd.Segment{make([]byte, 8)}, inf)(t, table, net)
	var sent []*lnd.Message
	var answers []wire.Header
	for range 3 {
		if err := table.Put(portals.PutRequest{MD: md, Ack: true, Target: far}); err != nil {
			t.Fatal(err)
		}
		m := net.next()
		sent = append(sent, m)
		answers = append(answers, from(nid.ProcessID{NID: m.Target.NID, PID: nid.LustrePID}, ackHeader(handle(md), 8)))
	}
	if answers[0].SrcNID == answers[1].SrcNID {
		t.Fatalf("both messages went to %v", answers[0].SrcNID)
	}
	for _, m := range sent[:2] {
		net.finalize(m, nil)
	}
	apart(table, far.NID, there.NID, beside.NID)
	for _, h := range answers[:2] {
		net.mustArrive(t, h)
	}
	wantDrops(t, table, map[string]uint64{})
	net.finalize(sent[2], nil)
	net.mustArrive(t, answers[2])
	wantDrops(t, table, map[string]uint64{})
}

// TestEarlyAnswersOfMovedNIDs: the same if an answer comes before its request is known to have left. The answer to another
// request counts still, and further ones from the NID of the first do not.
func TestEarlyAnswersOfMovedNIDs(t *testing.T) {
	spec.Covers(t, "PT-32")
	far := nid.ProcessID{NID: nid.MustParse("10.9.0.2@tcp9"), PID: nid.LustrePID}
	for _, oneByOne := range []bool{false, true} { // the second request is sent after the first is answered
		table, net := newWire(t)
		table.TimeOneIn(0)
		together(table, far.NID, there.NID, beside.NID)
		md := bound([]lnd.Segment{make([]byte, 8)}, inf)(t, table, net)
		put := func() *lnd.Message {
			if err := table.Put(portals.PutRequest{MD: md, Ack: true, Target: far}); err != nil {
				t.Fatal(err)
			}
			return net.next()
		}
		answered := func(m *lnd.Message) {
			net.mustArrive(t, from(nid.ProcessID{NID: m.Target.NID, PID: nid.LustrePID}, ackHeader(handle(md), 8)))
		}
		first := put()
		if oneByOne {
			answered(first)
		}
		second := put()
		if !oneByOne {
			answered(first)
		}
		if first.Target == second.Target {
			t.Fatalf("both messages went to %v", first.Target)
		}
		apart(table, far.NID, there.NID, beside.NID)
		answered(first)
		wantDrops(t, table, map[string]uint64{"not asked": 1})
		net.finalize(first, nil)
		net.finalize(second, nil)
		answered(first)
		wantDrops(t, table, map[string]uint64{"not asked": 2})
		answered(second)
		wantDrops(t, table, map[string]uint64{"not asked": 2})
	}
}

// TestAnswerOfMovedBeyond: the same if the node is beyond a gateway. An answer in the gateway's own name does not count.
func TestAnswerOfMovedBeyond(t *testing.T) {
	spec.Covers(t, "PT-32")
	for _, timeout := range []time.Duration{0, time.Minute} {
		table, net := newWire(t)
		named := nid.ProcessID{NID: nid.MustParse("10.9.0.1@tcp9"), PID: nid.LustrePID}
		other := nid.ProcessID{NID: nid.MustParse("10.9.0.2@tcp9"), PID: nid.LustrePID}
		if err := table.Node().AddRoute(route.New(named.NID.Net(), there.NID)); err != nil {
			t.Fatal(err)
		}
		together(table, named.NID, other.NID)
		md := bound([]lnd.Segment{make([]byte, 8)}, inf)(t, table, net)
		var ack wire.Header
		for to := (nid.NID{}); to != other.NID; {
			if err := table.Put(portals.PutRequest{MD: md, Ack: true, Target: named, Timeout: timeout}); err != nil {
				t.Fatal(err)
			}
			m := net.next()
			to, ack = m.Header.DestNID, ackHeader(m.Header.Put().AckMD, 8)
			net.finalize(m, nil)
		}
		apart(table, named.NID, other.NID)
		for _, by := range []nid.ProcessID{there, other} {
			if err := net.arriveFrom(there, from(by, ack), nil); err != nil {
				t.Fatal(err)
			}
			wantDrops(t, table, map[string]uint64{"not asked": 1})
		}
	}
}

// TestAnswersOfMovedAmongOthers: another process has not answered an earlier request of the MD, and a later request failed. Answers from
// the NIDs to which requests to a node went count while discovery does not know whose these are, however many NIDs
// the node has had meanwhile.
func TestAnswersOfMovedAmongOthers(t *testing.T) {
	spec.Covers(t, "PT-32")
	table, net := newWire(t)
	table.TimeOneIn(0)
	far := nid.ProcessID{NID: nid.MustParse("10.9.0.2@tcp9"), PID: nid.LustrePID}
	md := bound([]lnd.Segment{make([]byte, 8)}, inf)(t, table, net)
	ask(t, table, net, md, wire.Put, stranger)
	for i := range uint32(20) {
		rail := nid.FromNumber(here.NID.Net(), 0x0B000000+i)
		together(table, far.NID, rail)
		ask(t, table, net, md, wire.Put, far)
		if err := table.Put(portals.PutRequest{MD: md, Ack: true, Target: far}); err != nil {
			t.Fatal(err)
		}
		net.finalize(net.next(), syscall.EIO)
		apart(table, far.NID, rail)
		net.mustArrive(t, from(nid.ProcessID{NID: rail, PID: nid.LustrePID}, ackHeader(handle(md), 8)))
	}
	net.mustArrive(t, from(stranger, ackHeader(handle(md), 8)))
	wantDrops(t, table, map[string]uint64{})
}

// TestAnswerOfLostNID: requests of one MD go to two NIDs of a node that they do not name, and one of them is answered, from
// there or from a third NID. Then the first NID is no longer that of the node: a further answer from there does not
// count, although the MD still awaits one.
func TestAnswerOfLostNID(t *testing.T) {
	spec.Covers(t, "PT-32")
	far := nid.ProcessID{NID: nid.MustParse("10.9.0.2@tcp9"), PID: nid.LustrePID}
	rails := []nid.NID{there.NID, beside.NID, nid.MustParse("10.0.0.77@tcp")}
	all := append([]nid.NID{far.NID}, rails...)
	for _, third := range []bool{false, true} {
		table, net := newWire(t)
		table.TimeOneIn(0)
		together(table, all...)
		md := bound([]lnd.Segment{make([]byte, 8)}, inf)(t, table, net)
		put := func() nid.NID {
			if err := table.Put(portals.PutRequest{MD: md, Ack: true, Target: far}); err != nil {
				t.Fatal(err)
			}
			m := net.next()
			net.finalize(m, nil)
			return m.Target.NID
		}
		answered := func(by nid.NID) {
			net.mustArrive(t, from(nid.ProcessID{NID: by, PID: nid.LustrePID}, ackHeader(handle(md), 8)))
		}
		first, second := put(), put()
		other := slices.DeleteFunc(slices.Clone(rails), func(id nid.NID) bool { return id == first || id == second })
		if len(other) != 1 {
			t.Fatalf("the messages went to %v and %v", first, second)
		}
		by := first
		if third {
			by = other[0]
		}
		answered(by)
		wantDrops(t, table, map[string]uint64{})
		apart(table, all...)
		answered(first)
		wantDrops(t, table, map[string]uint64{"not asked": 1})
		answered(second)
		wantDrops(t, table, map[string]uint64{"not asked": 1})
	}
}
