package socklnd

import (
	"context"
	"log/slog"
	"net/netip"
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
	patience    shell.Patience     // the sock_timeout in force
	conns       atomic.Int32       // conns_per_peer set while the NI runs; 0: that of cfg
	acceptors   *acceptors         // acceptors of all NIs of the driver
	watchdog    *readloop.Watchdog // watchdog of all NIs of the driver
	polling     *polling           // busy polling, shared by all NIs of the driver
	acceptor    *acceptor          // acceptor of the address addr; nil with AcceptNone

	peers shell.Peers[nid.ProcessID, peer] // peers by NID and PID, and all goroutines and timer functions of the NI
	cast  casting                          // state of multicast

	recent   shell.Recent[peer] // cache of peers, by which most messages find their peer without the lock of peers
	messages shell.Messages     // messages that are not finalized; once it is closed no new ones are taken
	dials    shell.Messages     // attempts to connect that are under way; once it is closed no more begin
	ctx      context.Context
	cancel   context.CancelFunc // cancels ctx when all goroutines and connections have to end
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
		p := ni.peers.Get(m.Target)
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

// Shutdown implements lnd.NI. It returns ctx's error if messages had to be
// failed.
func (ni *NI) Shutdown(ctx context.Context) error {
	ni.messages.Close()
	ni.acceptors.leave(ni)
	err := ni.messages.Wait(ctx)
	ni.finishDials(ctx)
	peers, _ := ni.peers.End()
	ni.cancel()
	ni.cast.shutdown()
	for _, p := range peers {
		p.shutdown()
	}
	// goroutines that still write get an error soon, so this wait is short
	_ = ni.messages.Wait(context.Background())
	ni.peers.Tasks.Wait()
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
