package rmcast_test

import (
	"context"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestNewNI: RM-A22: the NI of a member is started again, as a reload does. Payload goes on arriving by multicast, and
// not as repairs.
func TestNewNI(t *testing.T) {
	spec.Covers(t, "RM-A22")
	s := newStacks(t, 3, link.Quality{}, nil)
	s.form(3)
	s.warm()
	k := s.nodes[2]
	k.host.Do(func() {
		node := k.table.Node()
		for _, ni := range node.NIs() {
			if ni.NID() != k.nid() {
				continue
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_ = node.RemoveNI(ctx, ni) // its error says that messages were lost, which are sent again
			if _, err := node.AddNI(k.host.Driver(), lnd.Config{Net: nid.MakeNet(k.nid().Net().Type(), 0)}); err != nil {
				t.Error(err)
			}
		}
	})
	s.run(5 * time.Second)
	before := s.repairs()
	for range 10 {
		s.nodes[0].post("x")
		s.run(time.Second)
	}
	if n := s.repairs() - before; n > 0 || len(s.nodes[0].done) != 10 {
		t.Errorf("%d repairs, %d of 10 messages released", n, len(s.nodes[0].done))
	}
}
