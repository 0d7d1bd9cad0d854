package o2iblnd

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/internal/shell"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// NI is one network interface: one local address in one net, and the peers that are
// reached from it.
type NI struct {
	cfg      Config // configuration with defaults filled in
	nid      nid.NID
	addr     netip.Addr
	stamp    uint64
	depth    int // queue depth: peer_credits
	clock    machine.Clock
	up       lnd.Upcalls
	log      *slog.Logger
	warned   shell.Warnings[Reason, nid.NID]
	counts   counters
	patience patience // time-outs that are in force
	acceptor *acceptor

	dev  verbs.Device // device of the acceptor
	attr verbs.DeviceAttr
	loop lnd.ReadLoop // read loop of dev; nil if it has none
	pd   verbs.PD
	mrs  registrations
	pool verbs.Pool
	cq   verbs.CQ

	mu      sync.RWMutex
	peers   map[nid.NID]*peer // guarded by mu; nil when the NI has ended
	most    int               // largest number of peers since the table was made; guarded by mu
	scanner machine.Timer     // nil while there is nothing to scan; guarded by mu
	conns   connTable

	cast casting // state of multicast

	recent   shell.Recent[peer] // cache of the peers to which messages were sent
	messages shell.Messages     // counts messages that are not finalized; after its Close no new messages are taken
	waiting  atomic.Int64       // number of messages under way that had to wait for a connection
	dying    chan struct{}      // closed when all goroutines and connections have to end
	tasks    sync.WaitGroup     // counts connections, timer functions, and goroutines that call lnet; Shutdown waits for all of them
}

var (
	_ lnd.NI            = (*NI)(nil)
	_ lnd.PeerCloser    = (*NI)(nil)
	_ lnd.TimeoutSetter = (*NI)(nil)
)

// open makes the objects of the device that the NI needs.
func (ni *NI) open(a *acceptor, cfg Config, t lnd.Tunables) (err error) {
	ni.acceptor, ni.dev, ni.attr = a, a.dev, a.dev.Attr()
	if l, ok := ni.dev.(verbs.ReadLooper); ok {
		ni.loop = l.ReadLoop()
	}
	ni.cfg, ni.depth = cfg.forNI(t, ni.attr), peerCredits(t)
	ni.patience.init(ni.cfg.Timeout, cfg.Timeout != 0)
	defer func() {
		if err != nil {
			err = errors.Join(err, ni.closeVerbs())
		}
	}()
	if ni.pd, err = ni.dev.NewPD(); err != nil {
		return err
	}
	if ni.pool, err = ni.pd.NewPool(verbs.PoolConfig{Buffers: ni.cfg.RxBuffers, Size: kib.MaxMsgSize}); err != nil {
		return err
	}
	if ni.cq, err = ni.dev.NewCQ(min(max(wrsPerTx*ni.cfg.NTX, leastCQ), mostCQ), ni.completed); err != nil {
		return err
	}
	ni.cast.init(ni, ni.dev, a.mtu, ni.clock)
	return nil
}

// The completion queue begins with room for the work requests of ntx messages and of answers to peers,
// but for no more than mostCQ, the limit of the device with the shortest queue (rdma_rxe). The device
// makes it longer if all connections together may post more.
const (
	wrsPerTx = 32
	leastCQ  = 1 << 14
	mostCQ   = 1<<15 - 1
)

// closeVerbs closes the objects that open has made. All connections have ended before.
func (ni *NI) closeVerbs() (err error) {
	if ni.cq != nil {
		err = errors.Join(err, ni.cq.Close())
	}
	if ni.pool != nil {
		err = errors.Join(err, ni.pool.Close())
	}
	if ni.pd != nil {
		err = errors.Join(err, ni.pd.Close())
	}
	return err
}

// NID implements lnd.NI.
func (ni *NI) NID() nid.NID { return ni.nid }

// finalize ends the driver's ownership of m. The caller holds no lock.
func (ni *NI) finalize(m *lnd.Message, err error) {
	ni.up.Finalize(m, err)
	ni.messages.End()
}

// peer returns the peer with this NID, and makes it if need be. It returns nil when the NI has
// ended.
func (ni *NI) peer(id nid.NID) *peer {
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

// allPeers returns the peers of this instant in the order of their NIDs, so that events of one
// instant have the same order in each run.
func (ni *NI) allPeers() []*peer {
	ni.mu.RLock()
	defer ni.mu.RUnlock()
	return sorted(ni.peers)
}

func sorted(peers map[nid.NID]*peer) []*peer {
	return slices.SortedFunc(maps.Values(peers), func(a, b *peer) int { return a.id.Compare(b.id) })
}

// enter begins a task unless the NI has ended.
func (ni *NI) enter() bool {
	ni.mu.RLock()
	defer ni.mu.RUnlock()
	if ni.ended() {
		return false
	}
	ni.tasks.Add(1)
	return true
}

// after calls f after d unless the NI has ended or the timer is stopped.
func (ni *NI) after(d time.Duration, f func()) machine.Timer {
	return ni.clock.AfterFunc(d, func() {
		if ni.enter() {
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
	ni.acceptor.leave(ni)
	err := errors.Join(ni.messages.Wait(ctx), ni.cast.shutdown(ctx))
	ni.mu.Lock() // no task may begin while Shutdown waits for the others
	again := ni.ended()
	if !again {
		close(ni.dying)
	}
	if ni.scanner != nil {
		ni.scanner.Stop()
		ni.scanner = nil
	}
	peers := ni.peers
	ni.peers = nil
	ni.mu.Unlock()
	for _, p := range sorted(peers) {
		p.shutdown()
	}
	for _, c := range ni.conns.all() {
		c.fail(newError(ShuttingDown, lustre(c.peer.id), nil))
	}
	_ = ni.messages.Wait(context.Background())
	ni.tasks.Wait()
	if again {
		return err
	}
	return errors.Join(err, ni.closeVerbs(), ni.acceptor.release())
}
