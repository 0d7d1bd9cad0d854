package portals_test

import (
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/route"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// TestAnswersLeaveWhereAsked (PT-23): REPLY and ACK leave from the NID to which the request
// was addressed, and have it as their source, although an NI that was added earlier could
// reach the sender, too.
func TestAnswersLeaveWhereAsked(t *testing.T) {
	spec.Covers(t, "PT-23")
	table, first := newWire(t)
	asked := nid.MustParse("10.0.0.8@tcp")
	net := &network{id: asked}
	if _, err := table.Node().AddNI(net, lnd.Config{Net: asked.Net()}); err != nil {
		t.Fatal(err)
	}
	passive([]lnd.Segment{make([]byte, 8)}, portals.OpPut|portals.OpGet|portals.ManageRemote)(t, table, net)
	for _, h := range []wire.Header{
		putHeader(8, wire.PutCmd{AckMD: handle(99)}),
		getHeader(wire.GetCmd{ReturnMD: handle(99), SinkLength: 8}),
	} {
		h.DestNID = asked
		net.mustArrive(t, h)
		if m := first.next(); m != nil {
			t.Errorf("%v: the %v left by the first NI, from %v", h.Type, m.Header.Type, m.Header.SrcNID)
			first.finalize(m, nil)
			continue
		}
		m := net.next()
		if m == nil {
			t.Fatalf("%v: no answer", h.Type)
		}
		if m.Header.SrcNID != asked || m.Target != there || m.Header.DestNID != there.NID {
			t.Errorf("%v: %v from %v to %v by %v", h.Type, m.Header.Type, m.Header.SrcNID, m.Header.DestNID, m.Target)
		}
		net.finalize(m, nil)
	}
}

// TestAnswersAreNotPinned: a program chooses the NI from which an operation is sent, and then that NI is removed.
// A later answer to a request that came through a router still leaves, from the NI at which the request came.
func TestAnswersAreNotPinned(t *testing.T) {
	spec.Covers(t, "PT-23")
	table, net := newWire(t)
	far, pinned := nid.MustParse("10.9.0.1@o2ib"), &network{id: nid.MustParse("10.1.0.1@tcp1")}
	if err := table.Node().AddRoute(route.New(far.Net(), there.NID)); err != nil {
		t.Fatal(err)
	}
	ni, err := table.Node().AddNI(pinned, lnd.Config{Net: pinned.id.Net()})
	if err != nil {
		t.Fatal(err)
	}
	md := (&harness{Table: table, t: t}).bind(portals.MD{Threshold: 1})
	to := nid.ProcessID{NID: nid.MustParse("10.1.0.2@tcp1"), PID: nid.LustrePID}
	if err := table.Put(portals.PutRequest{MD: md, Target: to, Self: pinned.id}); err != nil {
		t.Fatal(err)
	}
	pinned.finalize(pinned.next(), nil)
	if err := table.Node().RemoveNI(t.Context(), ni); err != nil {
		t.Fatal(err)
	}
	passive([]lnd.Segment{make([]byte, 8)}, portals.OpPut|portals.OpGet|portals.ManageRemote)(t, table, net)
	for _, h := range []wire.Header{
		getHeader(wire.GetCmd{ReturnMD: handle(99), SinkLength: 8}),
		putHeader(8, wire.PutCmd{AckMD: handle(99)}),
	} {
		if err := net.arriveFrom(there, from(nid.ProcessID{NID: far, PID: nid.LustrePID}, h), nil); err != nil {
			t.Fatal(err)
		}
		m := net.next()
		if m == nil {
			t.Fatalf("%v: no answer", h.Type)
		}
		net.finalize(m, nil)
	}
}

// TestAnswersGoBack: an answer goes to the process whose connection brought the request, also
// on nodes that do not check the source in headers.
func TestAnswersGoBack(t *testing.T) {
	user := nid.ProcessID{NID: there.NID, PID: nid.UserPID | 7}
	node := lnet.New(lnet.Config{Incarnation: incarnation, Clock: machine.RealClock(), SourceUnchecked: true})
	table, net := newWireOn(t, node, lnd.Tunables{})
	passive([]lnd.Segment{make([]byte, 8)}, portals.OpPut|portals.OpGet|portals.ManageRemote)(t, table, net)
	for name, source := range map[string]nid.ProcessID{
		"itself":       user,
		"another node": stranger,
		"another net":  {NID: nid.MustParse("1.2.3.4@tcp9"), PID: nid.LustrePID},
		"PID 0":        {NID: there.NID},
	} {
		for _, h := range []wire.Header{
			putHeader(8, wire.PutCmd{AckMD: handle(99)}),
			getHeader(wire.GetCmd{ReturnMD: handle(99), SinkLength: 8}),
		} {
			if err := net.arriveFrom(user, from(source, h), nil); err != nil {
				t.Fatal(err)
			}
			m := net.next()
			if m == nil {
				t.Fatalf("%s: no answer to a %v", name, h.Type)
			}
			if m.Target != user || m.Header.DestNID != source.NID {
				t.Errorf("%s: %v for %v goes to %v", name, m.Header.Type, m.Header.DestNID, m.Target)
			}
			net.finalize(m, nil)
		}
	}
}

// TestAckToAnyPID (PT-23): a PUT names 0 or PIDAny as the PID of its source. Its ACK goes to the process that
// sent the PUT, not to another process of the same host that has sent a PUT before.
func TestAckToAnyPID(t *testing.T) {
	spec.Covers(t, "PT-23")
	for _, pid := range []nid.PID{0, nid.PIDAny} {
		table, net := newWire(t)
		passive([]lnd.Segment{make([]byte, 8)}, portals.OpPut|portals.ManageRemote)(t, table, net)
		other := nid.ProcessID{NID: there.NID, PID: nid.UserPID | 7}
		for _, id := range []nid.ProcessID{other, {NID: there.NID, PID: pid}} {
			if err := net.arriveFrom(id, from(id, putHeader(8, wire.PutCmd{AckMD: handle(99)})), nil); err != nil {
				t.Fatal(err)
			}
			m := net.next()
			if m == nil || m.Target != id {
				t.Fatalf("the ACK to %v: %+v", id, m)
			}
			if _, posted := m.Owner.(*lnd.Inline); posted && id != other {
				t.Errorf("the ACK to %v is posted, and posts without a PID leave for any process", id)
			}
			net.finalize(m, nil)
		}
	}
}
