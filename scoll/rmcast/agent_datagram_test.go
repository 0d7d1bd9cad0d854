package rmcast_test

import (
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/portals"
	"ulnet/scoll/rmcast/wire"
)

// cast makes a node multicast bytes to a portal.
func (s *stacks) cast(id, portal int, b []byte) {
	s.t.Helper()
	table := s.nodes[id].table
	s.nodes[id].host.Do(func() {
		md, err := table.MDBind(portals.MD{Segments: []portals.Segment{b}, Threshold: 1}, portals.Unlink)
		if err == nil {
			err = table.PutMulticast(portals.PutMulticastRequest{MD: md, Group: portals.Group(group), Portal: portal})
		}
		if err != nil {
			s.t.Error(err)
		}
	})
	s.run(10 * time.Millisecond)
}

// TestDatagramsToOtherPortals: the address of a multicast group, to which any host can send in the name of any
// node, takes datagrams for the portal of data alone. Requests of discovery, acknowledgements and orders of managers,
// and the messages of all protocols at other portals, are dropped there.
func TestDatagramsToOtherPortals(t *testing.T) {
	spec.Covers(t, "RM-A22", "RM-39")
	s := newStacks(t, 3, link.Quality{}, nil)
	s.form(3)
	before := s.warm()
	node := s.nodes[0].table.Node()
	drops := func() uint64 { return node.Stats().DropReasons[lnet.NoMulticast.String()] }
	for portal := range portals.Portals {
		want := drops() + 1
		if portal == wire.DataPortal {
			want--
		}
		strays := s.nodes[0].agent.Strays()
		s.cast(1, portal, make([]byte, 64)) // names group 0, which is a stray message to an agent
		taken := s.nodes[0].agent.Strays() - strays
		if got := drops(); got != want || taken > 0 != (portal == wire.DataPortal) {
			t.Errorf("portal %d: %d datagrams dropped, want %d; the agent got %d", portal, got, want, taken)
		}
	}
	s.nodes[1].post("by multicast")
	s.run(time.Second)
	s.want("by multicast", s.ids()...)
	if n := s.repairs(); n != before {
		t.Errorf("%d repairs, want %d: the group's own datagrams did not arrive", n, before)
	}
}
