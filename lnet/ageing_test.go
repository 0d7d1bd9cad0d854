package lnet_test

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

func process(id nid.NID) nid.ProcessID { return nid.ProcessID{NID: id, PID: nid.LustrePID} }

// TestPeersAgeOut checks which peers are forgotten ten minutes after their last use, and which are
// kept.
func TestPeersAgeOut(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(r *rig)
		idle    time.Duration
		after   time.Duration
		want    bool // whether the peer is still known
	}{
		"disconnected":     {func(r *rig) { r.meet(peerA); r.part(peerA) }, 0, 16 * time.Minute, false},
		"not long ago":     {func(r *rig) { r.meet(peerA); r.part(peerA) }, 0, 9 * time.Minute, true},
		"connected":        {func(r *rig) { r.meet(peerA) }, 0, time.Hour, true},
		"watched":          {func(r *rig) { r.part(peerA); r.node.WatchPeer(process(peerA), func(lnet.PeerChange) {}) }, 0, time.Hour, true},
		"holding a credit": {func(r *rig) { r.send(peerA, 1) }, 0, time.Hour, true},
		"never connected":  {func(r *rig) { r.send(peerA, 1); r.finalize(syscall.ECONNREFUSED) }, 0, 16 * time.Minute, false},
		"sooner":           {func(r *rig) { r.meet(peerA); r.part(peerA) }, time.Minute, 2 * time.Minute, false},
		"never":            {func(r *rig) { r.meet(peerA); r.part(peerA) }, -1, 24 * time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lnd.Tunables{}, lnet.Config{PeerIdle: c.idle})
				r.send(peerA, 2)
				r.finalize(nil)
				c.prepare(r)
				<-time.After(c.after)
				if r.node.HasPeer(peerA) != c.want {
					t.Errorf("after %v the peer is remembered: %v, want %v", c.after, !c.want, c.want)
				}
				for r.finalize(nil) {
				}
			})
		})
	}
}

// meet makes a peer connect, and part makes it disconnect.
func (r *rig) meet(id nid.NID) { r.driver.up.PeerUp(process(id)) }
func (r *rig) part(id nid.NID) { r.driver.up.PeerDown(process(id), syscall.ECONNRESET) }

// TestCrowdAgesOut (LN-22): 150000 peers (20000 if the run is not long) connect, send a message and
// disconnect. This node also sends a message to as many other peers, to which no connection can be made.
// All of them are forgotten within a minute, and their memory is freed. Peers that stay connected are not
// forgotten.
func TestCrowdAgesOut(t *testing.T) {
	effort.OneGoroutine(t)
	spec.Covers(t, "LN-22")
	synctest.Test(t, func(t *testing.T) {
		var shrunk atomic.Int64
		node := lnet.New(lnet.Config{Incarnation: 7, Clock: machine.RealClock(), OnShrink: func() { shrunk.Add(1) }})
		node.SetUpper(&silentUpper{})
		d := &driver{id: self, onSend: func(d *driver, m *lnd.Message) { d.up.Finalize(m, syscall.ECONNREFUSED) }}
		ni, err := node.AddNI(d, lnd.Config{Net: tcp})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = node.Shutdown(over()) }()
		node.SetForgetter(func(primary nid.NID) { node.ForgetPeerNID(primary) })
		for i := range 2000 {
			d.up.PeerUp(process(nid.FromNumber(tcp, 0x0E000000+uint32(i))))
		}
		before := heap()
		crowd := effort.Of(20_000, 20_000, 150_000)
		for i := range crowd {
			id := numbered(i)
			d.up.PeerUp(process(id))
			in := arriving(nil)
			in.Header.SrcNID, in.From = id, process(id)
			if _, err := ni.Parse(in); err != nil {
				t.Fatal(err)
			}
			ni.Delivered(in, nil)
			node.SetPeer(upToDate(id))
			d.up.PeerDown(process(id), syscall.ECONNRESET)
			node.Send(put(nid.FromNumber(tcp, 0x0D000000+uint32(i)), 1))
		}
		if n := len(node.Snapshot().Peers); n < crowd {
			t.Errorf("%d peers, want a crowd", n)
		}
		<-time.After(time.Minute)
		s := node.Snapshot()
		if len(s.Peers) != 2000 || len(s.Nodes) > 0 {
			t.Errorf("%d peers and %d nodes are remembered after a minute, want the 2000 that are connected", len(s.Peers), len(s.Nodes))
		}
		if n := shrunk.Load(); n != 1 {
			t.Errorf("OnShrink was called %d times", n)
		}
		s = lnet.Snapshot{}
		if after := heap(); after > before+before/5 {
			t.Errorf("%d bytes of heap after a minute, %d before", after, before)
		}
	})
}

// heap returns how many bytes of the heap are in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // again, because the first collection only moves the content of pools aside and runs finalizers
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestNeverConnected: in a crowded table, peers that were never connected are removed at once.
// Peers that were connected are removed only half a minute later.
func TestNeverConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lnd.Tunables{}, lnet.Config{MaxPeers: 1000})
		r.onSend = func(d *driver, m *lnd.Message) { d.up.Finalize(m, syscall.ECONNREFUSED) }
		const each = 200
		for i := range each {
			r.meet(numbered(i))
			r.part(numbered(i))
			r.send(numbered(each+i), 1)
		}
		<-time.After(6 * time.Second)
		if n := len(r.node.Snapshot().Peers); n != each || !r.node.HasPeer(numbered(0)) {
			t.Errorf("after 6 s %d peers are remembered, want the %d that were connected", n, each)
		}
	})
}
