package socklnd

import (
	"context"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/internal/shell"
	"ulnet/lnd/readloop"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// NI is one network interface: one local address in one net, and the peers
// that are reached from it.
type NI struct {
	cfg         Config // configuration with defaults filled in
	nid         nid.NID
	pid         nid.PID
	addr        netip.Addr
	incarnation uint64
	clock       machine.Clock
	up          lnd.Upcalls
	inline      lnd.InlineUpcalls // up as InlineUpcalls; nil if the layer above takes no inline messages
	tap         lnd.Tap           // capture of connections; nil: no capture
	log         *slog.Logger
	warned      shell.Warnings[Reason, nid.ProcessID]
	counts      counters
	spoilSum    atomic.Bool        // the next checksum is to be sent wrong
	patience    patience           // time-outs that are in force
	conns       atomic.Int32       // conns_per_peer set while the NI runs; 0: that of cfg
	acceptors   *acceptors         // acceptors of all NIs of the driver
	watchdog    *readloop.Watchdog // watchdog of all NIs of the driver
	polling     *polling           // busy polling, shared by all NIs of the driver
	acceptor    *acceptor          // acceptor of the address addr; nil with AcceptNone

	mu      sync.RWMutex
	peers   map[nid.ProcessID]*peer // peers by NID and PID; guarded by mu
	most    int                     // largest number of peers that the present table has had; guarded by mu
	scanner machine.Timer           // timer of the next scan; nil while there is nothing to scan; guarded by mu
	scanDue time.Duration           // when that scan is due; guarded by mu

	cast casting // state of multicast

	recent   shell.Recent[peer] // cache of peers, by which most messages find their peer without the lock mu
	messages shell.Messages     // messages that are not finalized; once it is closed no new ones are taken
	dials    shell.Messages     // attempts to connect that are under way; once it is closed no more begin
	dying    chan struct{}      // closed when all goroutines and connections have to end
	ctx      context.Context
	cancel   context.CancelFunc // cancels ctx when dying is closed
	tasks    sync.WaitGroup     // all goroutines and timer functions of the NI
}

var (
	_ lnd.NI            = (*NI)(nil)
	_ lnd.PeerCloser    = (*NI)(nil)
	_ lnd.TimeoutSetter = (*NI)(nil)
)

// NID implements lnd.NI.
func (ni *NI) NID() nid.NID { return ni.nid }

// Send implements lnd.NI.
func (ni *NI) Send(m *lnd.Message) {
	ni.messages.Begin()
	if ni.messages.Closing() {
		ni.finalize(m, newError(ShuttingDown, m.Target, nil))
		return
	}
	recent := ni.recent.Slot(m.Target.NID.Hash())
	if p := recent.Load(); p != nil && p.id == m.Target && p.send(m) {
		return
	}
	for {
		p := ni.peer(m.Target)
		if p == nil {
			ni.finalize(m, newError(ShuttingDown, m.Target, nil))
			return
		}
		if p.send(m) {
			recent.Store(p)
			return
		}
	}
}

// Recv implements lnd.NI.
func (ni *NI) Recv(d *lnd.Delivery) { d.Driver.(*conn).rx.recv() }

// finalize finalizes m, which the driver then owns no longer. The caller holds no lock.
func (ni *NI) finalize(m *lnd.Message, err error) {
	ni.up.Finalize(m, err)
	ni.messages.End()
}

// peer returns the peer with this id, and makes it if need be. It returns nil when the NI has
// ended.
func (ni *NI) peer(id nid.ProcessID) *peer {
	ni.mu.RLock()
	p := ni.peers[id]
	ni.mu.RUnlock()
	if p != nil {
		return p
	}
	ni.mu.Lock()
	defer ni.mu.Unlock()
	if p := ni.peers[id]; p != nil || ni.ended() {
		return p
	}
	p = newPeer(ni, id)
	ni.peers[id] = p
	ni.most = max(ni.most, len(ni.peers))
	ni.scanLater()
	return p
}

// forget removes p if it has no state, so that short-lived peers do not fill the table until
// the next scan.
func (ni *NI) forget(p *peer) {
	ni.mu.Lock()
	defer ni.mu.Unlock()
	if ni.peers[p.id] == p && p.remove(ni.clock.Now()) {
		delete(ni.peers, p.id)
	}
}

// allPeers returns the peers of this instant, in no order.
func (ni *NI) allPeers() []*peer {
	ni.mu.RLock()
	defer ni.mu.RUnlock()
	return slices.Collect(maps.Values(ni.peers))
}

// after calls f after d unless the NI has ended or the timer is stopped.
func (ni *NI) after(d time.Duration, f func()) machine.Timer {
	return ni.clock.AfterFunc(d, func() {
		ni.mu.RLock()
		ended := ni.ended()
		if !ended {
			ni.tasks.Add(1)
		}
		ni.mu.RUnlock()
		if !ended {
			defer ni.tasks.Done()
			f()
		}
	})
}

// ended reports whether all connections have to end.
func (ni *NI) ended() bool {
	select {
	case <-ni.dying:
		return true
	default:
		return false
	}
}

// Shutdown implements lnd.NI. It returns ctx's error if messages had to be
// failed.
func (ni *NI) Shutdown(ctx context.Context) error {
	ni.messages.Close()
	ni.acceptors.leave(ni)
	err := ni.messages.Wait(ctx)
	ni.finishDials(ctx)
	ni.mu.Lock() // no timer function may begin while Shutdown waits
	if !ni.ended() {
		close(ni.dying)
		ni.cancel()
	}
	if ni.scanner != nil {
		ni.scanner.Stop()
		ni.scanner = nil
	}
	peers := ni.peers
	ni.peers = nil
	ni.mu.Unlock()
	ni.cast.shutdown()
	for _, p := range peers {
		p.shutdown()
	}
	// goroutines that still write get an error soon, so this wait is short
	_ = ni.messages.Wait(context.Background())
	ni.tasks.Wait()
	if ni.acceptor != nil {
		ni.acceptor.wait()
	}
	return err
}

// handshakeGrace is how long a node that ends waits for answers to its handshakes.
const handshakeGrace = 500 * time.Millisecond

// finishDials starts no more dials and waits for those in progress: a kernel logs an error for
// each handshake that is broken off.
func (ni *NI) finishDials(ctx context.Context) {
	ni.dials.Close()
	grace, cancel := context.WithCancel(ctx)
	defer cancel()
	defer ni.clock.AfterFunc(handshakeGrace, cancel).Stop()
	_ = ni.dials.Wait(grace)
}

// shutdown closes the peer's connections and fails its messages.
func (p *peer) shutdown() {
	p.mu.Lock()
	cause := newError(ShuttingDown, p.id, nil)
	p.removed = true
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	if sum(p.set.have) > 0 {
		p.events.Add(event{kind: eventDown, err: cause})
	}
	p.closeAll(cause)
	p.failPending(cause)
	p.unlock()
}
