package softroce

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
)

// errUD is wrapped by every error with which a queue pair for datagrams refuses something.
var errUD = errors.New("queue pair for datagrams")

// ud is a queue pair for datagrams (verbs.UD). A posted datagram leaves at once and completes
// inside PostSend, unless the system has no room: then it waits here.
type ud struct {
	dev          *device
	hub          *hub
	cfg          verbs.UDConfig
	qpn          ibta.QPN
	sends, recvs *cq
	pool         pool
	counters     udCounters
	retry        timed

	mu    sync.Mutex // guards the fields out and ended
	out   udSender
	ended bool

	in udReceiver
}

var (
	_ verbs.UD = (*ud)(nil)
	_ endpoint = (*ud)(nil)
)

// NewUD makes a queue pair for datagrams (verbs.Device).
func (d *device) NewUD(cfg verbs.UDConfig) (verbs.UD, error) {
	sends, _ := cfg.Sends.(*cq)
	recvs, _ := cfg.Recvs.(*cq)
	from, _ := cfg.Pool.(pool)
	if sends == nil || recvs == nil || from == nil || sends.dev != d || recvs.dev != d {
		return nil, errParts
	}
	if cfg.MaxSends < 1 || cfg.MaxSends > sends.depth {
		return nil, fmt.Errorf("%d datagrams at a time, of a completion queue for %d", cfg.MaxSends, sends.depth)
	}
	u := &ud{dev: d, hub: d.hub, cfg: cfg, sends: sends, recvs: recvs, pool: from}
	u.out.u = u
	u.retry = timed{expired: u.again}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, verbs.ErrClosed
	}
	d.uds[u] = struct{}{}
	sends.enter(cfg.MaxSends)
	u.qpn = d.hub.demux.reserve()
	d.hub.demux.put(u.qpn, u)
	return u, nil
}

// QPN is the number of the queue pair (verbs.UD).
func (u *ud) QPN() uint32 { return uint32(u.qpn) }

// ReceiveBuffer is how many bytes of datagrams the system keeps for each group, its
// own overhead included, until they are read. 0 before the first Join.
func (u *ud) ReceiveBuffer() int { return int(u.hub.groups.granted.Load()) }

// Missed is how many datagrams to the groups of the device have found the system's receive
// buffer full, as the latest received datagram tells.
func (u *ud) Missed() uint64 { return u.hub.groups.stats().Missed }

// Join receives datagrams that are sent to a group (verbs.UD).
func (u *ud) Join(group netip.Addr) error {
	u.mu.Lock()
	ended := u.ended
	u.mu.Unlock()
	if ended {
		return verbs.ErrClosed
	}
	err := u.hub.groups.join(group.Unmap(), u)
	u.mu.Lock()
	ended = u.ended
	u.mu.Unlock()
	if ended { // the queue pair was closed meanwhile
		u.hub.groups.leaveAll(u)
		return verbs.ErrClosed
	}
	return err
}

// Leave ends the effect of Join (verbs.UD).
func (u *ud) Leave(group netip.Addr) error {
	u.hub.groups.leave(group.Unmap(), u)
	return nil
}

// PostSend posts datagrams (verbs.UD).
func (u *ud) PostSend(list []verbs.Datagram) error {
	u.mu.Lock()
	err := u.post(list)
	u.finish()
	return err
}

// post queues datagrams and sends those that there is room for. The caller holds mu.
func (u *ud) post(list []verbs.Datagram) error {
	if u.ended {
		return verbs.ErrClosed
	}
	for i := range list {
		if err := u.check(&list[i]); err != nil {
			return err
		}
	}
	if u.out.len()+len(list) > u.cfg.MaxSends || !u.sends.reserve(len(list)) {
		return verbs.ErrFull
	}
	for i := range list {
		u.out.push(&list[i])
	}
	u.flush()
	return nil
}

// check returns an error if d cannot be sent.
func (u *ud) check(d *verbs.Datagram) error {
	n := 0
	for _, p := range d.Pieces {
		n += len(p.Bytes)
	}
	to := d.To.Unmap()
	switch {
	case n > u.hub.mtu.Bytes():
		return verbs.ErrTooLarge
	case !to.IsValid() || to.Is4() != u.hub.addr.Is4():
		return fmt.Errorf("%w: from %v to %v", errUD, u.hub.addr, d.To)
	case to.IsMulticast() != (d.QPN == verbs.MulticastQPN) || d.QPN > verbs.MulticastQPN:
		return fmt.Errorf("%w: %v is not reached by QPN %#x", errUD, d.To, d.QPN)
	}
	return nil
}

// again sends datagrams that found no room before.
func (u *ud) again(time.Duration) {
	u.mu.Lock()
	u.flush()
	u.finish()
}

// roomTimeout is how long a sender without room waits before it tries again; local policy.
const roomTimeout = grain

// flush sends posted datagrams, as far as there is room. The caller holds mu.
func (u *ud) flush() {
	if u.out.len() == 0 {
		return
	}
	now := u.hub.clock.Now()
	if u.out.flush(u.hub.port, now); u.out.len() > 0 {
		u.counters.full.Add(1)
		u.hub.timers.set(&u.retry, now+roomTimeout)
	}
}

// finish makes the upcalls that are due, and unlocks mu, which the caller holds.
func (u *ud) finish() {
	done := u.out.takeDone()
	mine := u.sends.claim(done, nil)
	u.mu.Unlock()
	if mine {
		u.sends.run(done, nil)
	}
	if cap(done) > 0 {
		u.mu.Lock()
		u.out.giveBack(done)
		u.mu.Unlock()
	}
}

// Close ends the queue pair (verbs.UD). After it returns no datagram arrives, except for the
// upcall that is being made.
func (u *ud) Close() {
	u.mu.Lock()
	if u.ended {
		u.mu.Unlock()
		return
	}
	u.ended = true
	u.out.drop()
	u.finish()
	u.sends.leave(u.cfg.MaxSends)
	u.hub.timers.remove(&u.retry)
	u.hub.demux.remove(u.qpn)
	u.hub.groups.leaveAll(u)
	u.in.end()
	u.hub.retireUD(u)
	remove(u.dev, u.dev.uds, u)
}
