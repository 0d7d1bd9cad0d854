package lnetsim

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// town is some stacks on a fabric without loss.
type town struct {
	*simlnd.Fabric
	t      *testing.T
	stacks []*Stack
	events [][]portals.Event // by node: the events of the PUTs that it has received
	data   []string          // payloads received by any node, in the order of arrival, as "NODE:PAYLOAD"
}

func newTown(t *testing.T, nodes, datagram int) *town {
	t.Helper()
	w := &town{t: t, stacks: make([]*Stack, nodes), events: make([][]portals.Event, nodes)}
	var err error
	w.Fabric, err = simlnd.New(simlnd.Config{Nodes: nodes, Datagram: datagram, Boot: func(h, _ *simlnd.Host) {
		s, err := NewStack(h, StackConfig{Discovery: true})
		if err != nil {
			t.Error(err)
		}
		w.stacks[h.ID()] = s
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.pass(time.Second)
	return w
}

func (w *town) pass(d time.Duration) {
	w.t.Helper()
	if err := w.Run(w.Now() + d); err != nil {
		w.t.Fatal(err)
	}
}

// listen posts memory for PUTs with match bits 7 at portal 40, and joins group 3 for this portal.
func (w *town) listen(id int, options portals.MDOption) {
	w.t.Helper()
	table := w.stacks[id].Table
	me, err := table.MEAttach(40, portals.Match{Bits: 7}, portals.Retain, portals.After)
	if err == nil {
		_, err = table.MDAttach(me, portals.MD{
			Segments: []portals.Segment{make([]byte, 4096)}, Threshold: portals.ThresholdInfinite, Options: portals.OpPut | options,
			Handler: func(e *portals.Event) {
				w.events[id] = append(w.events[id], *e)
				w.data = append(w.data, fmt.Sprintf("%d:%s", id, e.Bytes()))
			},
		}, portals.Retain)
	}
	if err == nil {
		err = table.JoinGroup(nid.NID{}, 3, 40)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// put sends text to group 3 and returns the events at the origin.
func (w *town) put(id int, text string, bits uint64) (events []portals.Event, err error) {
	w.t.Helper()
	table := w.stacks[id].Table
	md, err := table.MDBind(portals.MD{
		Segments: []portals.Segment{[]byte(text)}, Threshold: 1,
		Handler: func(e *portals.Event) { events = append(events, *e) },
	}, portals.Unlink)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Do(sim.NodeID(id), func(*simlnd.Host) {
		err = table.PutMulticast(portals.PutMulticastRequest{MD: md, Group: 3, Portal: 40, MatchBits: bits, HdrData: 99})
	})
	w.pass(time.Second)
	return events, err
}

// A multicast PUT is one message of the origin, and makes a PUT event at each member (RM-1,
// RM-35).
func TestPutMulticast(t *testing.T) {
	spec.Covers(t, "RM-1", "RM-35")
	w := newTown(t, 5, 0)
	for id := 1; id < 4; id++ {
		w.listen(id, portals.ManageRemote)
	}
	w.listen(0, 0) // the sender does not receive its own datagram
	before := w.Stats().Sent
	events, err := w.put(0, "to all", 7)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(w.data); got != "[1:to all 2:to all 3:to all]" {
		t.Errorf("came: %v", got)
	}
	if n := w.Stats().Sent - before; n != 1 {
		t.Errorf("%d messages were sent, want 1: no discovery, no connection, no ACK", n)
	}
	group := nid.MustParse("239.0.0.3@tcp")
	if len(events) != 1 || events[0].Kind != portals.EventSend || events[0].Err != nil || !events[0].Unlinked || events[0].Target.NID != group {
		t.Errorf("events of the origin: %v", events)
	}
	e := w.events[1][0]
	if e.Kind != portals.EventPut || e.Initiator.NID != simlnd.NID(0) || e.Target.NID != group || e.HdrData != 99 || e.ReceivedAt == 0 {
		t.Errorf("event %+v", e)
	}
}

// Match entries apply as to every PUT, and a lazy portal does not keep datagrams.
func TestPutMulticastMatches(t *testing.T) {
	w := newTown(t, 4, 0)
	for id := 1; id < 4; id++ {
		w.listen(id, 0)
	}
	if err := w.stacks[2].Table.SetLazy(40); err != nil {
		t.Fatal(err)
	}
	if _, err := w.put(0, "other bits", 8); err != nil {
		t.Fatal(err)
	}
	for id, reason := range map[int]string{1: "no match", 2: "multicast at a lazy portal"} {
		if got := w.stacks[id].Node.Stats().DropReasons; got[reason] != 1 {
			t.Errorf("node %d dropped %v, want 1 for %s", id, got, reason)
		}
	}
	w.listen(2, 0) // this node listens too late for the datagram
	if len(w.data) > 0 {
		t.Errorf("came: %v", w.data)
	}
	if err := w.stacks[1].Node.FailNID(simlnd.NID(0), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := w.put(0, "x", 7); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(w.data); got != "[2:x 3:x]" {
		t.Errorf("came: %v", got)
	}
	if err := w.stacks[3].Table.LeaveGroup(nid.NID{}, 3, 40); err != nil {
		t.Fatal(err)
	}
	if _, err := w.put(0, "y", 7); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(w.data); got != "[2:x 3:x 1:y 2:y]" {
		t.Errorf("came: %v", got)
	}
}

// PutMulticast refuses each call that is wrong with an errno of its own, and leaves the MD as it was.
func TestPutMulticastErrors(t *testing.T) {
	w := newTown(t, 2, 100)
	table := w.stacks[0].Table
	bind := func(size int) portals.MDHandle {
		md, err := table.MDBind(portals.MD{Segments: []portals.Segment{make([]byte, size)}, Threshold: 1}, portals.Retain)
		if err != nil {
			t.Fatal(err)
		}
		return md
	}
	fits, large := bind(100), bind(101)
	for _, tt := range []struct {
		name string
		r    portals.PutMulticastRequest
		want error
	}{
		{"too long", portals.PutMulticastRequest{MD: large, Group: 1}, syscall.EMSGSIZE},
		{"no group", portals.PutMulticastRequest{MD: fits}, syscall.EINVAL},
		{"no such group", portals.PutMulticastRequest{MD: fits, Group: lnd.MaxGroup + 1}, syscall.EINVAL},
		{"no portal", portals.PutMulticastRequest{MD: fits, Group: 1, Portal: 64}, syscall.EINVAL},
		{"no MD", portals.PutMulticastRequest{Group: 1}, syscall.ENOENT},
		{"not ours", portals.PutMulticastRequest{MD: fits, Group: 1, Self: simlnd.NID(1)}, syscall.EINVAL},
		{"loopback", portals.PutMulticastRequest{MD: fits, Group: 1, Self: nid.Lo0()}, errors.ErrUnsupported},
		{"nothing wrong", portals.PutMulticastRequest{MD: fits, Group: 1}, nil},
		{"exhausted", portals.PutMulticastRequest{MD: fits, Group: 1}, syscall.ENOENT},
	} {
		if err := table.PutMulticast(tt.r); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	if err := w.stacks[0].Node.FailNID(nid.MustParse("239.0.0.1@tcp"), 1); err != nil {
		t.Fatal(err)
	}
	if err := table.PutMulticast(portals.PutMulticastRequest{MD: bind(1), Group: 1}); !errors.Is(err, syscall.EIO) {
		t.Errorf("group that fails: %v", err)
	}
	if got, err := table.MulticastLimits(nid.NID{}); err != nil || got.MaxPayload != 100 || got.Burst(100) < 1 {
		t.Errorf("limits %+v, %v", got, err)
	}
}

// If no NI has multicast, each call returns errors.ErrUnsupported, so that the caller can fall back to
// unicast (RM-A22).
func TestPutMulticastUnsupported(t *testing.T) {
	spec.Covers(t, "RM-A22")
	w := newTown(t, 2, -1)
	table := w.stacks[0].Table
	for what, err := range map[string]error{
		"put":    table.PutMulticast(portals.PutMulticastRequest{Group: 1}),
		"join":   table.JoinGroup(nid.NID{}, 1, 40),
		"leave":  table.LeaveGroup(nid.NID{}, 1, 40),
		"limits": func() error { _, err := table.MulticastLimits(nid.NID{}); return err }(),
	} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v, want errors.ErrUnsupported", what, err)
		}
	}
}
