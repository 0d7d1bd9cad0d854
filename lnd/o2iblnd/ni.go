package o2iblnd

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync/atomic"

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
	patience shell.Patience // the timeout in force
	acceptor *acceptor

	dev  verbs.Device // device of the acceptor
	attr verbs.DeviceAttr
	loop lnd.ReadLoop // read loop of dev; nil if it has none
	pd   verbs.PD
	mrs  registrations
	pool verbs.Pool
	cq   verbs.CQ

	peers shell.Peers[nid.NID, peer] // peers, and the tasks: connections, timer functions, and goroutines that call lnet
	conns connTable

	cast casting // state of multicast

	recent   shell.Recent[peer] // cache of the peers to which messages were sent
	messages shell.Messages     // counts messages that are not finalized; after its Close no new messages are taken
	waiting  atomic.Int64       // number of messages under way that had to wait for a connection
	upcalls  upcalls            // upcalls that keep the NI from handling what arrives
	absences absences
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
	if m, ok := ni.dev.(verbs.AbsenceMeter); ok {
		ni.absences.meter, ni.absences.metered = m, m.Absence() // absences of before delay nothing of this NI
	}
	ni.cfg, ni.depth = cfg.forNI(t, ni.attr), peerCredits(t)
	ni.patience.Init(ni.cfg.Timeout, cfg.Timeout != 0)
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

// sorted brings peers into the order of their NIDs, so that events of one instant have the same order in each run.
func sorted(peers []*peer) []*peer {
	slices.SortFunc(peers, func(a, b *peer) int { return a.id.Compare(b.id) })
	return peers
}

// Shutdown implements lnd.NI. It returns ctx's error if messages had to be
// failed.
func (ni *NI) Shutdown(ctx context.Context) error {
	ni.messages.Close()
	ni.acceptor.leave(ni)
	err := errors.Join(ni.messages.Wait(ctx), ni.cast.shutdown(ctx))
	peers, first := ni.peers.End()
	for _, p := range sorted(peers) {
		p.shutdown()
	}
	for _, c := range ni.conns.all() {
		c.fail(newError(ShuttingDown, lustre(c.peer.id), nil))
	}
	_ = ni.messages.Wait(context.Background())
	ni.peers.Tasks.Wait()
	if !first {
		return err
	}
	return errors.Join(err, ni.closeVerbs(), ni.acceptor.release())
}
