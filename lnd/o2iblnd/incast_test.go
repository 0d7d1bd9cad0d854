package o2iblnd

import (
	"net/netip"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnd/verbs/softroce/emulator"
)

// TestFewBuffers: many peers send at once to an NI that has fewer buffers than messages arrive.
// A message that finds no buffer is sent again, and everything arrives on the first
// connections.
func TestFewBuffers(t *testing.T) {
	const peers, each = 12, 20
	clock := emulator.NewClock()
	net := emulator.New(emulator.Config{Clock: clock, Seed: 3, Faults: emulator.Faults{Delay: 10 * time.Microsecond, Jitter: 10 * time.Microsecond}})
	open := softroce.NewOpener(softroce.Options{Network: net})
	v := &virtual{t: t, clock: clock, net: net}
	virtually := func(c *lnd.Config) { c.Clock = clock }
	all := new(sink)
	ni := start(t, netip.MustParseAddr("10.0.0.200"), open, Config{RxBuffers: 3, MTU: 1024}, all, virtually)
	var senders []*NI
	var ups []*sink
	for i := range peers {
		up := new(sink)
		s := start(t, netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), open, Config{MTU: 1024}, up, virtually)
		senders, ups = append(senders, s), append(ups, up)
		for k := range each {
			s.Send(newMessage(s, ni.nid, 3000+k))
		}
	}
	v.until("arrivals", time.Minute, func(s *sink) bool { return s.arrived == peers*each }, all)
	for i, up := range ups {
		v.until("ends", time.Minute, func(s *sink) bool { return s.finished == each }, up)
		if len(up.errs)+len(up.downs) > 0 {
			t.Errorf("peer %d: %v %v", i, up.errs, up.downs)
		}
	}
	s := ni.Snapshot()
	t.Logf("%v; %d packets found no buffer", clock.Now(), s.Receives.Empty)
	if s.Receives.Empty == 0 {
		t.Error("there were buffers for all")
	}
	if s.Receives.Free != 3 {
		t.Errorf("%d buffers are free of 3", s.Receives.Free)
	}
	for i := range append(senders, ni) {
		v.nis[0] = append(senders, ni)[i]
		v.shut(0)
	}
}
