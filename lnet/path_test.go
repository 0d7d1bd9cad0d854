package lnet_test

import (
	"errors"
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/path"
)

// newWide returns a rig with lo, two NIs on tcp and one on tcp1, and their drivers by NID.
func newWide(t *testing.T) (r *rig, drivers map[nid.NID]*driver) {
	t.Helper()
	r = newRig(t, lnd.Tunables{}, lnet.Config{})
	drivers = map[nid.NID]*driver{self: r.driver, second: {id: second}, self1: {id: self1}}
	for _, id := range []nid.NID{second, self1} {
		if _, err := r.node.AddNI(drivers[id], lnd.Config{Net: id.Net()}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.node.AddNI(lo.Driver{}, lnd.Config{Net: nid.Lo0().Net()}); err != nil {
		t.Fatal(err)
	}
	return r, drivers
}

// TestPath (LN-10) checks by which NI a message leaves, and the errors for a source that is no NID of
// this node or that does not reach the destination.
func TestPath(t *testing.T) {
	spec.Covers(t, "LN-10")
	ip6 := nid.MustParse("fd00::1@tcp")
	for name, c := range map[string]struct {
		to, pin nid.NID
		by      nid.NID // NID of the NI that takes the message
		source  nid.NID // source in the header; zero: the same as by
		err     error
	}{
		"first NI of the net":     {to: peerA, by: self},
		"any source":              {to: peerA, pin: nid.Any(), by: self},
		"pinned":                  {to: peerA, pin: second, by: second},
		"other net":               {to: peer1, by: self1},
		"pinned to the wrong net": {to: peer1, pin: self, err: syscall.EHOSTUNREACH},
		"pinned to a foreign NID": {to: peerA, pin: peerB, err: syscall.EINVAL},
		"unreachable net":         {to: nid.MustParse("1.2.3.4@tcp7"), err: syscall.EHOSTUNREACH},
		"unknown net":             {to: nid.MustParse("1020304@<200:0>"), err: syscall.EHOSTUNREACH},
		"no net":                  {to: nid.MustParse("1020304@<0:1>"), err: syscall.EINVAL},
		"odd address":             {to: nid.MustParse("1:2@<2:0>"), err: syscall.EHOSTUNREACH},
		"lo, but not 0@lo":        {to: nid.MustParse("1@<9:0>"), err: syscall.EHOSTUNREACH},
		"lo with a number":        {to: nid.MustParse("0@<9:1>"), err: syscall.EHOSTUNREACH},
		"IPv6 from IPv4":          {to: ip6, err: syscall.EHOSTUNREACH},
		"nobody":                  {err: syscall.EINVAL},
		"anybody":                 {to: nid.Any(), err: syscall.EINVAL},
		"loopback":                {to: nid.Lo0(), by: nid.Lo0()},
		"own NID":                 {to: self1, by: nid.Lo0(), source: self1},
		"own NID, pinned":         {to: self, pin: second, by: nid.Lo0(), source: self},
		"loopback, foreign pin":   {to: nid.Lo0(), pin: peerA, err: syscall.EINVAL},
		"remote, pinned to lo":    {to: peerA, pin: nid.Lo0(), err: syscall.EHOSTUNREACH},
	} {
		t.Run(name, func(t *testing.T) {
			r, drivers := newWide(t)
			m := put(c.to, 1)
			m.Source = c.pin
			r.node.Send(m)
			if c.err != nil {
				r.wantResult(1, c.err)
				return
			}
			if d := drivers[c.by]; d != nil {
				wantBits(t, "in flight", d.inFlight(), 1)
				d.finalize(nil)
			}
			r.wantResult(1, nil)
			if c.source == (nid.NID{}) {
				c.source = c.by
			}
			want := nid.ProcessID{NID: c.to, PID: nid.LustrePID}
			if m.Header.SrcNID != c.source || m.Header.SrcPID != nid.LustrePID || m.Target != want {
				t.Errorf("from %v pid %v to %v, want from %v to %v", m.Header.SrcNID, m.Header.SrcPID, m.Target, c.source, want)
			}
		})
	}
}

// TestNoLoopback: a node without a loopback NI cannot send to itself; the error says so.
func TestNoLoopback(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	for bits, to := range []nid.NID{self, nid.Lo0()} {
		r.send(to, uint64(bits))
		r.wantResult(uint64(bits), syscall.EHOSTUNREACH)
	}
	wantBits(t, "in flight", r.inFlight())
}

// TestTwoPathsToOnePeer: two NIs of a net have credits of their own towards
// the same NID, and a message uses the driver of the NI that its source names.
func TestTwoPathsToOnePeer(t *testing.T) {
	r, drivers := newWide(t)
	for bits, from := range map[uint64]nid.NID{1: self, 2: second} {
		m := put(peerA, bits)
		m.Source = from
		r.node.Send(m)
	}
	wantBits(t, "by the first", drivers[self].inFlight(), 1)
	wantBits(t, "by the second", drivers[second].inFlight(), 2)
	if n := len(r.node.Snapshot().Peers); n != 2 {
		t.Errorf("%d peer NIs, want 2", n)
	}
}

// TestDist (LN-15): the distance of a NID is 0 for NIDs of this node, 1 on its nets, and n +
// 1 beyond a route of n hops.
func TestDist(t *testing.T) {
	spec.Covers(t, "LN-15")
	r, _ := newWide(t)
	r.node.SetRoutes([]*path.Gateway{
		{Net: nid.MustParseNet("tcp9"), Router: peerA, Hops: 5},
		{Net: nid.MustParseNet("tcp9"), Router: peer1, Hops: 3},
		{Net: nid.MustParseNet("tcp8"), Router: peerA}, // the number of hops is undefined
		{Net: nid.MustParseNet("tcp7"), Router: nid.MustParse("10.9.0.2@tcp9")},
	})
	for name, c := range map[string]struct {
		to   nid.NID
		want lnet.Distance
		err  error
	}{
		"loopback":  {nid.Lo0(), lnet.Distance{Hops: 0, Order: 0, Source: nid.Lo0()}, nil},
		"own NID":   {second, lnet.Distance{Hops: 0, Order: 1, Source: second}, nil},
		"first net": {peerA, lnet.Distance{Hops: 1, Order: 2, Source: self}, nil},
		"third NI":  {peer1, lnet.Distance{Hops: 1, Order: 4, Source: self1}, nil},
		"beyond":    {nid.MustParse("10.9.0.2@tcp9"), lnet.Distance{Hops: 4, Order: 6, Source: self1}, nil},
		"next door": {nid.MustParse("10.8.0.2@tcp8"), lnet.Distance{Hops: 2, Order: 6, Source: self}, nil},
		"too far":   {nid.MustParse("10.7.0.2@tcp7"), lnet.Distance{}, syscall.EHOSTUNREACH},
		"nowhere":   {nid.MustParse("1.2.3.4@o2ib"), lnet.Distance{}, syscall.EHOSTUNREACH},
		"anybody":   {nid.Any(), lnet.Distance{}, syscall.EHOSTUNREACH},
		"nobody":    {nid.NID{}, lnet.Distance{}, syscall.EHOSTUNREACH},
	} {
		got, err := r.node.Dist(c.to)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, %v; want %+v, %v", name, got, err, c.want, c.err)
		}
	}
}
