package simlnd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
)

// driver makes the NIs of one host.
type driver struct{ host *Host }

// Type implements lnd.Driver.
func (driver) Type() nid.NetType { return nid.TCP }

// Startup implements lnd.Driver. Config.Interface names the rail, "eth0" if it is
// empty. EADDRINUSE: the host has an NI on this net and rail.
func (d driver) Startup(cfg lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	if cfg.Net.Type() != nid.TCP {
		return nil, fmt.Errorf("simlnd: %v is no net of type tcp: %w", cfg.Net, syscall.EINVAL)
	}
	rail, err := parseRail(cfg.Interface)
	if err != nil {
		return nil, err
	}
	h := d.host
	ni := &ni{
		host: h, up: up, net: cfg.Net, rail: rail, nid: NIDOn(cfg.Net, h.ID(), rail),
		pid:     cmp.Or(cfg.PID, nid.LustrePID),
		timeout: cmp.Or(cfg.Tunables.Timeout, lnd.Timeout(150*time.Second, lnd.DefaultRetryCount)),
		peers:   make(map[peerKey]*peer),
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, other := range h.nis {
		if other.net == cfg.Net && other.rail == rail {
			return nil, fmt.Errorf("simlnd: host %v has an NI on %v by eth%d: %w", h.incarnation.Node, cfg.Net, rail, syscall.EADDRINUSE)
		}
	}
	h.nis = append(h.nis[:len(h.nis):len(h.nis)], ni)
	return ni, nil
}

// peerKey says where a peer is: on which host and which rail of that.
type peerKey struct {
	id   sim.NodeID
	rail Rail
}

// ni is a host's NI on one net, by one rail.
type ni struct {
	host    *Host
	up      lnd.Upcalls
	net     nid.Net
	rail    Rail
	nid     nid.NID
	pid     nid.PID
	timeout time.Duration

	// Guarded by the host's lock:
	outbox  lnd.Queue
	closing []closing   // calls of ClosePeer that are still to be carried out
	resumed []*delivery // deliveries for which lnet has called Recv, and which the next step continues
	closed  bool
	groups  []lnd.Group // groups that this NI has joined

	// Used only by the step or by Shutdown:
	peers map[peerKey]*peer
	order []*peer // the peers in the order in which they were made
}

// NID implements lnd.NI.
func (ni *ni) NID() nid.NID { return ni.nid }

// Send implements lnd.NI. The message goes at the end of the step in progress, or else in the
// host's next step.
func (ni *ni) Send(m *lnd.Message) {
	h := ni.host
	h.mu.Lock()
	closed := ni.closed
	if !closed {
		ni.outbox.Push(m)
		h.wake()
	}
	h.mu.Unlock()
	if closed {
		ni.up.Finalize(m, syscall.ESHUTDOWN)
	}
}

// closing is a call of ClosePeer.
type closing struct {
	peer        nid.NID
	incarnation uint64
	cause       error
}

// ClosePeer implements lnd.PeerCloser. It ends the connections when a message given to Send would
// leave: at the end of the step in progress, or else in the host's next step.
func (ni *ni) ClosePeer(peer nid.NID, incarnation uint64, cause error) {
	h := ni.host
	h.mu.Lock()
	defer h.mu.Unlock()
	if !ni.closed {
		ni.closing = append(ni.closing, closing{peer, incarnation, cause})
		h.wake()
	}
}

func (ni *ni) closePeer(c closing) {
	for _, p := range ni.order {
		if p.state == open && p.name().NID == c.peer && (c.incarnation == 0 || c.incarnation == p.lnetIncarnation()) {
			p.down(c.cause, true)
		}
	}
}

// drain processes the messages given to Send and Recv, and calls of ClosePeer, and reports whether there were
// any.
func (ni *ni) drain() (some bool) {
	h := ni.host
	for {
		h.mu.Lock()
		m, resumed, closing := ni.outbox.Pop(), ni.resumed, ni.closing
		ni.resumed, ni.closing = nil, nil
		h.mu.Unlock()
		if m == nil && len(resumed) == 0 && len(closing) == 0 {
			return some
		}
		some = true
		for _, c := range closing {
			ni.closePeer(c)
		}
		for _, d := range resumed {
			d.resume()
		}
		if m != nil {
			ni.route(m)
		}
	}
}

// route gives m to the peer that it is for.
func (ni *ni) route(m *lnd.Message) {
	if m.Group != 0 {
		ni.cast(m)
		return
	}
	id, rail, ok := locate(m.Target.NID)
	if !ok || int(id) >= len(ni.host.fabric.hosts) || m.Target.NID.Net() != ni.net {
		ni.up.PeerDown(m.Target, syscall.EHOSTUNREACH)
		ni.up.Finalize(m, lnd.Failed(lnd.RemoteDropped, syscall.EHOSTUNREACH))
		return
	}
	p := ni.peer(peerKey{id, rail})
	if p.state != open {
		ni.up.Waits(m)
	}
	p.queue.Push(m)
	p.push()
}

// peer returns the peer on a host's rail, and makes it if need be.
func (ni *ni) peer(at peerKey) *peer {
	p := ni.peers[at]
	if p == nil {
		p = newPeer(ni, at)
		ni.peers[at] = p
		ni.order = append(ni.order, p)
	}
	return p
}

// Shutdown implements lnd.NI. No time passes: messages that wait on open connections leave at once,
// the others fail.
func (ni *ni) Shutdown(ctx context.Context) error {
	h := ni.host
	h.mu.Lock()
	again := ni.closed
	ni.closed = true
	ni.leaveAll()
	inside := h.calling
	for h.stepping && !inside {
		h.quiet.Wait()
	}
	if again {
		h.mu.Unlock()
		return nil
	}
	h.stepping = true
	h.mu.Unlock()

	lost := ni.flush(ctx)
	for _, p := range ni.order {
		p.down(syscall.ESHUTDOWN, true)
	}

	h.mu.Lock()
	h.nis = without(h.nis, ni)
	h.stepping = inside
	if !inside {
		h.wake()
		h.quiet.Broadcast()
	}
	h.mu.Unlock()
	if lost > 0 {
		return fmt.Errorf("simlnd: %v: %d messages were not sent: %w", ni.nid, lost, cmp.Or(context.Cause(ctx), error(syscall.ESHUTDOWN)))
	}
	return nil
}

func without(list []*ni, gone *ni) []*ni {
	return slices.DeleteFunc(slices.Clone(list), func(other *ni) bool { return other == gone })
}

// flush sends the messages that wait for open connections. It returns how many messages it could not send;
// these fail.
func (ni *ni) flush(ctx context.Context) (lost int) {
	h := ni.host
	for {
		h.mu.Lock()
		m := ni.outbox.Pop()
		h.mu.Unlock()
		if m == nil {
			break
		}
		if m.Group != 0 {
			ni.cast(m)
		} else if id, rail, ok := locate(m.Target.NID); ok && ni.peers[peerKey{id, rail}] != nil {
			ni.peers[peerKey{id, rail}].queue.Push(m)
		} else {
			lost++
			ni.up.Finalize(m, syscall.ESHUTDOWN)
		}
	}
	for _, p := range ni.order {
		for p.state == open && p.queue.Len() > 0 && ctx.Err() == nil {
			p.transmit(p.queue.Pop())
		}
		lost += p.queue.Len()
	}
	return lost
}
