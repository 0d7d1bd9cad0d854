package portals_test

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

var (
	castNet  = nid.MustParseNet("tcp")
	castSelf = nid.MustParse("10.0.0.1@tcp")
	castPeer = nid.MustParse("10.0.0.2@tcp")
)

// caster is a driver whose datagrams to a group arrive at its own node, as if the node
// castPeer had sent them.
type caster struct {
	up      lnd.Upcalls
	groups  []lnd.Group
	sent    wire.Header
	d       lnd.Delivery
	refused error // result of Join
}

func (*caster) Type() nid.NetType                                      { return nid.TCP }
func (c *caster) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) { c.up = up; return c, nil }
func (*caster) NID() nid.NID                                           { return castSelf }
func (c *caster) Send(m *lnd.Message)                                  { c.up.Finalize(m, syscall.EHOSTUNREACH) }
func (*caster) Recv(*lnd.Delivery)                                     {}
func (*caster) Shutdown(context.Context) error                         { return nil }
func (*caster) GroupNID(g lnd.Group) nid.NID                           { return nid.FromNumber(castNet, 239<<24|uint32(g)) }

func (c *caster) MulticastLimits() lnd.MulticastLimits {
	return lnd.MulticastLimits{MaxPayload: 100, ReceiveBuffer: 12240}
}

func (c *caster) Join(g lnd.Group) error {
	if c.refused == nil {
		c.groups = append(c.groups, g)
	}
	return c.refused
}

func (c *caster) Leave(g lnd.Group) error {
	c.groups = slices.DeleteFunc(c.groups, func(h lnd.Group) bool { return h == g })
	return nil
}

func (c *caster) Multicast(m *lnd.Message) {
	c.sent = m.Header
	if slices.Contains(c.groups, m.Group) {
		c.d.Header, c.d.Group, c.d.ReceivedAt = m.Header, m.Group, time.Second
		c.d.Header.SrcNID = castPeer
		c.d.From = nid.ProcessID{NID: castPeer, PID: m.Header.SrcPID}
		if _, err := c.up.Parse(&c.d); err == nil {
			lnd.Copy(c.d.Sink, m.Payload)
			c.up.Delivered(&c.d, nil)
		}
	}
	c.up.Finalize(m, nil)
}

func newCaster(t testing.TB) (*portals.Table, *caster) {
	t.Helper()
	node := lnet.New(lnet.Config{Incarnation: 7, Clock: machine.RealClock()})
	table, c := portals.New(node), new(caster)
	if _, err := node.AddNI(c, lnd.Config{Net: castNet}); err != nil {
		t.Fatal(err)
	}
	return table, c
}

// TestPutMulticastEvents checks the events at the origin and at a member, and the fields of the
// header (RM-35).
func TestPutMulticastEvents(t *testing.T) {
	spec.Covers(t, "RM-35")
	table, c := newCaster(t)
	var got log
	memory := make([]byte, 100)
	me, err := table.MEAttach(40, portals.Match{ID: nid.ProcessID{NID: castPeer}, Bits: 7}, portals.Retain, portals.After)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.MDAttach(me, portals.MD{
		Segments: []portals.Segment{memory}, Threshold: portals.ThresholdInfinite, Options: portals.OpPut | portals.ManageRemote, Handler: got.handle,
	}, portals.Retain); err != nil {
		t.Fatal(err)
	}
	if err := table.JoinGroup(nid.Any(), 9, 40); err != nil {
		t.Fatal(err)
	}
	var sent log
	md, err := table.MDBind(portals.MD{Segments: []portals.Segment{[]byte("he"), []byte("llo")}, Threshold: 1, Handler: sent.handle, UserPtr: 5}, portals.Unlink)
	if err != nil {
		t.Fatal(err)
	}
	r := portals.PutMulticastRequest{Self: castSelf, MD: md, Group: 9, Portal: 40, MatchBits: 7, Offset: 3, HdrData: 11}
	if err := table.PutMulticast(r); err != nil {
		t.Fatal(err)
	}
	group := c.GroupNID(9)
	if h := c.sent; h.SrcNID != castSelf || h.DestNID != group || h.Type != wire.Put || h.PayloadLength != 5 || !h.Put().AckMD.IsNone() {
		t.Errorf("header %+v", h)
	}
	if len(sent.events) != 1 || len(got.events) != 1 || string(memory[3:8]) != "hello" {
		t.Fatalf("events %v and %v, memory %q", sent.events, got.events, memory[:10])
	}
	if e := sent.events[0]; e.Kind != portals.EventSend || e.Target.NID != group || e.MLength != 5 || !e.Unlinked || e.UserPtr != 5 || e.Err != nil {
		t.Errorf("origin: %+v", e)
	}
	if e := got.events[0]; e.Kind != portals.EventPut || e.Target.NID != group || e.Initiator.NID != castPeer || e.Source.NID != castPeer ||
		e.Offset != 3 || e.HdrData != 11 || e.ReceivedAt != time.Second || string(e.Bytes()) != "hello" {
		t.Errorf("member: %+v", e)
	}
	for _, portal := range []int{41, portals.Portals} {
		if err := table.LeaveGroup(castSelf, 9, portal); !errors.Is(err, syscall.ENOENT) {
			t.Errorf("leave for portal %d: %v", portal, err)
		}
	}
	if err := table.LeaveGroup(castSelf, 9, 40); err != nil || len(c.groups) > 0 {
		t.Errorf("leave: %v, groups %v", err, c.groups)
	}
	if err := table.LeaveGroup(castSelf, 9, 40); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("leave again: %v", err)
	}
	for _, portal := range []int{-1, portals.Portals} {
		if err := table.JoinGroup(castSelf, 9, portal); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("join for portal %d: %v", portal, err)
		}
	}
}

// TestPutMulticastAllocates: a datagram allocates nothing, at the origin or at a member.
func TestPutMulticastAllocates(t *testing.T) {
	if effort.Race {
		t.Skip("sync.Pool drops values at random under the race detector")
	}
	table, _ := newCaster(t)
	events := 0
	count := func(*portals.Event) { events++ }
	me, err := table.MEAttach(40, portals.Match{}, portals.Retain, portals.After)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.MDAttach(me, portals.MD{
		Segments: []portals.Segment{make([]byte, 100)}, Threshold: portals.ThresholdInfinite, Options: portals.OpPut | portals.ManageRemote, Handler: count,
	}, portals.Retain); err != nil {
		t.Fatal(err)
	}
	if err := table.JoinGroup(nid.NID{}, 1, 40); err != nil {
		t.Fatal(err)
	}
	md, err := table.MDBind(portals.MD{Segments: []portals.Segment{make([]byte, 100)}, Threshold: portals.ThresholdInfinite, Handler: count}, portals.Retain)
	if err != nil {
		t.Fatal(err)
	}
	const runs = 1000
	if n := testing.AllocsPerRun(runs, func() {
		if err := table.PutMulticast(portals.PutMulticastRequest{MD: md, Group: 1, Portal: 40}); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per datagram, want 0", n)
	}
	if events != 2*(runs+1) {
		t.Errorf("%d events, want %d", events, 2*(runs+1))
	}
}
