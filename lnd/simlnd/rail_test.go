package simlnd

import (
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
)

// railNet is two hosts with two rails each on one net, and an end on each of them.
func railNet(t *testing.T) (*Fabric, [2][2]*end) {
	t.Helper()
	var ends [2][2]*end
	f, err := New(Config{Nodes: 2, Seed: 1, Topology: &sim.Flat{Link: millisecond()}, Boot: func(h, _ *Host) {
		for rail := range Rail(2) {
			e := &end{h: h, sink: make([]byte, 64)}
			cfg := lnd.Config{Net: Net, Interface: []string{"", "eth1"}[rail], Clock: h.Clock(), Tunables: lnd.Tunables{Timeout: 10 * time.Second}}
			ni, err := h.Driver().Startup(cfg, e)
			if err != nil {
				t.Error(err)
			}
			e.ni, ends[h.ID()][rail] = ni, e
		}
	}})
	if err == nil {
		err = f.Run(0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f, ends
}

// TestRails: each NI of a host has a NID of its own; messages to that NID arrive there, from
// the NI that sent them.
func TestRails(t *testing.T) {
	f, ends := railNet(t)
	for from := range Rail(2) {
		for to := range Rail(2) {
			m := message(0, 1, uint64(from)<<8|uint64(to), 10)
			m.Target.NID = NIDOn(Net, 1, to)
			f.Do(0, func(*Host) { ends[0][from].ni.Send(m) })
		}
	}
	if err := f.Run(time.Second); err != nil {
		t.Fatal(err)
	}
	for to, e := range ends[1] {
		slices.Sort(e.got)
		if want := []uint64{uint64(to), 1<<8 | uint64(to)}; !slices.Equal(e.got, want) || e.up != 2 {
			t.Errorf("rail %d got %v of %d peers, want %v of 2", to, e.got, e.up, want)
		}
	}
	if got, want := ends[0][1].ni.NID().String(), "11.0.0.1@tcp"; got != want {
		t.Errorf("rail 1 has %s, want %s", got, want)
	}
}

// TestRailCut: nothing gets through a cut rail. The sender gets PeerDown for it after the timeout,
// not before. Other rails still work, and so does the cut rail when it is mended.
func TestRailCut(t *testing.T) {
	f, ends := railNet(t)
	run := func(d time.Duration) {
		t.Helper()
		if err := f.Run(f.Now() + d); err != nil {
			t.Fatal(err)
		}
	}
	send := func(rail Rail, bits uint64) {
		m := message(0, 1, bits, 10)
		m.Target.NID = NIDOn(Net, 1, rail)
		f.Do(0, func(*Host) { ends[0][rail].ni.Send(m) })
	}
	for rail := range Rail(2) {
		send(rail, 1)
	}
	run(time.Second)
	f.CutRail(1, 1, true)
	for rail := range Rail(2) {
		send(rail, 2)
	}
	run(9 * time.Second)
	if causes := ends[0][1].causes; len(causes) > 0 {
		t.Errorf("down %v before the timeout", causes)
	}
	run(2 * time.Second)
	if causes := ends[0][1].causes; len(causes) != 1 || !errors.Is(causes[0], syscall.ETIMEDOUT) {
		t.Errorf("rail 1 is told %v, want one ETIMEDOUT", causes)
	}
	if causes := ends[0][0].causes; len(causes) > 0 {
		t.Errorf("rail 0 is told %v", causes)
	}
	f.CutRail(1, 1, false)
	send(1, 3)
	run(time.Second)
	if got := ends[1][0].got; !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("rail 0 got %v, want 1 and 2", got)
	}
	if got := ends[1][1].got; !slices.Equal(got, []uint64{1, 3}) {
		t.Errorf("rail 1 got %v, want 1 and 3", got)
	}
}

// TestRailDeath: when a process dies, its peer gets PeerDown at once on the rail that is not cut. On
// the cut rail it does not: there it can notice the death only by a timeout.
func TestRailDeath(t *testing.T) {
	f, ends := railNet(t)
	for rail := range Rail(2) {
		m := message(0, 1, 1, 10)
		m.Target.NID = NIDOn(Net, 1, rail)
		f.Do(0, func(*Host) { ends[0][rail].ni.Send(m) })
	}
	f.At(time.Second, func() { f.CutRail(0, 1, true) })
	f.At(2*time.Second, func() { f.Kill(1) })
	if err := f.Run(3 * time.Second); err != nil {
		t.Fatal(err)
	}
	if causes := ends[0][0].causes; len(causes) != 1 || !errors.Is(causes[0], syscall.ECONNRESET) {
		t.Errorf("rail 0 is told %v, want one ECONNRESET", causes)
	}
	if causes := ends[0][1].causes; len(causes) > 0 {
		t.Errorf("rail 1 is told %v", causes)
	}
}

// TestRailNames: a name of an interface that is no rail is refused, and Node tells which NIDs are
// addresses of hosts.
func TestRailNames(t *testing.T) {
	for _, text := range []string{"eth8", "eth-1", "eth", "ib0", "1"} {
		if _, err := parseRail(text); !errors.Is(err, syscall.ENODEV) {
			t.Errorf("%q: error %v, want ENODEV", text, err)
		}
	}
	for text, want := range map[string]struct {
		id sim.NodeID
		ok bool
	}{
		"10.0.0.1@tcp": {0, true}, "17.0.1.0@tcp3": {255, true}, "10.0.0.0@tcp": {}, "9.0.0.1@tcp": {}, "18.0.0.1@tcp": {}, "10.0.0.1@o2ib": {},
	} {
		if id, ok := Node(nid.MustParse(text)); ok != want.ok || ok && id != want.id {
			t.Errorf("%s is host %v (%v), want %v (%v)", text, id, ok, want.id, want.ok)
		}
	}
}
