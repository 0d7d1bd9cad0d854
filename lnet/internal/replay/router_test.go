package replay

import (
	"context"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/capture"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// side is an NI of a router that records its messages.
type side struct {
	id   nid.NID
	up   lnd.Upcalls
	sent []*said
}

func (s *side) Type() nid.NetType { return s.id.Net().Type() }
func (s *side) NID() nid.NID      { return s.id }

func (s *side) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	s.up = up
	return s, nil
}

func (s *side) Send(m *lnd.Message) {
	s.sent = append(s.sent, &said{hop: m.Target.NID, by: s.id, head: m.Header, data: m.Payload.AppendTo(nil)})
	s.up.Finalize(m, nil)
}

func (s *side) Recv(*lnd.Delivery)             { panic("a message waits for a buffer") }
func (s *side) Shutdown(context.Context) error { return nil }

// silentUpper is a layer above lnet that takes no message: messages to the router itself are
// not tested here.
type silentUpper struct{}

func (silentUpper) Arrive(*lnet.NI, *lnd.Delivery) (lnd.Answer, lnet.DropReason) {
	return lnd.Accept, lnet.NoMatch
}
func (silentUpper) Delivered(*lnet.NI, *lnd.Delivery, error) {}
func (silentUpper) Abandon(*lnet.NI, *lnd.Delivery) bool     { return false }
func (silentUpper) Sent(*lnet.Message, error)                {}
func (silentUpper) Detach(*lnet.NI)                          {}
func (silentUpper) EndBatch(*lnd.Delivery)                   {}
func (silentUpper) Again(*lnd.Delivery, int) bool            { return false }

// TestForwardsAsKernels: our node takes the place of each recorded router. It forwards each message for the
// other net to the same next hop as the kernel did, with the same header and payload.
func TestForwardsAsKernels(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-1")
	for name, c := range map[string]struct {
		files     []string
		near, far string
	}{
		"basic C":        {[]string{"tcp-route-basic-near", "tcp-route-basic-far"}, "10.88.0.7@tcp", "10.89.0.7@tcp1"},
		"two gateways C": {[]string{"tcp-route-two-gateways-near", "tcp-route-two-gateways-far"}, "10.88.0.7@tcp", "10.89.0.7@tcp1"},
		"two gateways D": {[]string{"tcp-route-two-gateways-near", "tcp-route-two-gateways-far"}, "10.88.0.8@tcp", "10.89.0.8@tcp1"},
		"asymmetric C":   {[]string{"tcp-route-asym-near", "tcp-route-asym-far"}, "10.88.0.7@tcp", "10.89.0.7@tcp1"},
		"asymmetric D":   {[]string{"tcp-route-asym-near", "tcp-route-asym-far"}, "10.88.0.8@tcp", "10.89.0.8@tcp1"},
		"IPv6":           {[]string{"tcp6-route"}, "fd88::4@tcp", "fd89::4@tcp1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := load(t, c.files...)
			n := lnet.New(lnet.Config{Incarnation: 1, Clock: machine.RealClock(), RouterSilence: -1})
			n.SetUpper(silentUpper{})
			sides := map[nid.NID]*side{}
			for _, id := range []nid.NID{nid.MustParse(c.near), nid.MustParse(c.far)} {
				s := &side{id: id}
				sides[id] = s
				if _, err := n.AddNI(s, lnd.Config{Net: id.Net()}); err != nil {
					t.Fatal(err)
				}
			}
			defer n.Shutdown(t.Context())
			if err := n.StartAsRouter(); err != nil {
				t.Fatal(err)
			}
			count := 0
			for i := range steps {
				if in := sides[steps[i].to]; in != nil && steps[i].passes(sides) {
					out := forwarded(t, in, sides, &steps[i])
					if out == nil {
						continue
					}
					count++
					if !sentOn(steps, out) {
						t.Errorf("%v of %v for %v with %d bytes: the kernel sent no such message to %v",
							out.head.Type, out.head.SrcNID, out.head.DestNID, len(out.data), out.hop)
					}
				}
			}
			if s := n.Stats(); count == 0 || s.RouteCount != uint64(count) || s.DropCount != 0 {
				t.Errorf("%d messages passed, %+v", count, s)
			}
			t.Logf("%d messages", count)
		})
	}
}

// passes reports whether a message comes from another node and is for a node beyond the
// router.
func (s *step) passes(sides map[nid.NID]*side) bool {
	return s.kind == capture.Message && sides[s.head.DestNID] == nil && sides[s.from.NID] == nil
}

// forwarded makes a message arrive and returns the message that our node sends.
func forwarded(t *testing.T, in *side, sides map[nid.NID]*side, s *step) *said {
	t.Helper()
	d := &lnd.Delivery{Header: s.head, From: s.from, Incarnation: s.stamp}
	if answer, err := in.up.Parse(d); err != nil || answer != lnd.Accept || d.Dropped {
		t.Errorf("%v of %v for %v: answer %d, dropped %v, %v", s.head.Type, s.head.SrcNID, s.head.DestNID, answer, d.Dropped, err)
		return nil
	}
	d.Sink.CopyIn(s.data)
	in.up.Delivered(d, nil)
	for _, out := range sides {
		if len(out.sent) > 0 {
			first := out.sent[0]
			out.sent = nil
			return first
		}
	}
	t.Errorf("%v of %v for %v does not leave", s.head.Type, s.head.SrcNID, s.head.DestNID)
	return nil
}

// sentOn reports whether the recorded router sent a message, by the same NI to the same node.
func sentOn(steps []step, out *said) bool {
	for i := range steps {
		s := &steps[i]
		if s.kind == capture.Message && s.from.NID == out.by && s.to == out.hop && s.head == out.head && string(s.data) == string(out.data) {
			return true
		}
	}
	return false
}
