package router

import (
	"fmt"
	"syscall"
	"time"

	"ulnet/lnet/machine"
)

// Mode says what a node does with messages for other nodes, by the numbers that lnetctl
// shows.
type Mode uint8

// The modes.
//
//	Off ──────► On          Enable without a wait
//	Off ──────► Starting    Enable: it forwards already, and says that it does not
//	Starting ─► On          every net was heard when the node looked, or the wait is over
//	On, Starting ─► Stopping  Disable while messages have buffers
//	On, Starting ─► Off     Disable while no message has a buffer
//	Stopping ─► Off         the last message with a buffer has left
const (
	Off      Mode = iota // messages for other nodes are dropped
	On                   // messages for other nodes are forwarded
	Stopping             // further messages are dropped, those with a buffer leave
	Starting             // messages are forwarded, but peers are still told that they are not
)

func (m Mode) String() string {
	return [...]string{"off", "on", "stopping", "starting", "unknown"}[min(m, Starting+1)]
}

// Forwards reports whether messages are forwarded.
func (m Mode) Forwards() bool { return m == On || m == Starting }

// Switch is the machine that turns forwarding on and off (lnet_rtrpools_enable). The zero
// value is Off.
//
// When forwarding is turned on while the node runs, the node tells its peers only after some
// time that it routes, as Lustre 2.17 does and 2.15 does not. So peers do not choose the node before
// the node knows which of its nets are alive. The caller can end the wait early, by a Step with heard set.
type Switch struct {
	mode  Mode
	until time.Duration // end of the mode Starting
}

// Mode returns the present mode.
func (s *Switch) Mode() Mode { return s.mode }

// Enable turns forwarding on; it is Starting for at most wait, if that is positive. EBUSY: it
// is still Stopping.
func (s *Switch) Enable(now, wait time.Duration) error {
	switch {
	case s.mode == Stopping:
		return fmt.Errorf("routing is being turned off and messages are still leaving; try again: %w", syscall.EBUSY)
	case s.mode.Forwards():
		return nil
	case wait > 0:
		s.mode, s.until = Starting, now+wait
	default:
		s.mode = On
	}
	return nil
}

// Disable turns forwarding off; busy says that messages have buffers.
func (s *Switch) Disable(busy bool) {
	switch {
	case s.mode != Off && busy:
		s.mode = Stopping
	default:
		s.mode = Off
	}
}

// Step ends the modes that end by themselves. heard says that every net was heard since Enable,
// busy that messages have buffers. wake is when to call it again at the latest; a node also
// calls it when its last message has left.
func (s *Switch) Step(now time.Duration, heard, busy bool) (wake time.Duration) {
	switch s.mode {
	case Starting:
		if !heard && now < s.until {
			return s.until
		}
		s.mode = On
	case Stopping:
		if !busy {
			s.mode = Off
		}
	}
	return machine.Never
}

// Silence is a machine that reports a net as down when no message came from it for a long time
// (router_ping_timeout + alive_router_check_interval). The zero value is a net that is up.
//
// Kernels count only pings. So if clients check their routers rarely, kernels report a net as
// down between these pings, however much traffic there is. Here every message from another node
// of the net counts. After half of the time without a message, the router pings nodes that it
// knows on the net. It reports no net as down before these pings, even if the timeout is made
// shorter while it waits. Local policy.
type Silence struct {
	begun time.Duration // when the watch of the net began
	known bool          // whether begun is set
	down  bool
	asked bool          // pings were sent since the net was last heard
	at    time.Duration // time at which the pings were sent, if asked is set
}

// Begin begins to watch: the net is up until it has been silent for the time-out.
func (s *Silence) Begin(now time.Duration) { *s = Silence{begun: now, known: true} }

// Down reports whether the net is considered down.
func (s *Silence) Down() bool { return s.down }

// Heard reports whether the net was heard since Begin.
func (s *Silence) Heard(heard time.Duration, ok bool) bool { return ok && heard >= s.begun }

// Step reports whether the state of the net has changed, and whether to ping nodes on the net.
// heard is when the last message came from the net, if ok. wake is when to call Step again.
func (s *Silence) Step(now, timeout, heard time.Duration, ok bool) (changed, ask bool, wake time.Duration) {
	if !s.known {
		s.Begin(now)
	}
	last := s.begun
	if ok {
		last = max(last, heard)
	}
	s.asked = s.asked && s.at >= last
	ask = !s.down && !s.asked && now-last >= timeout/2
	if ask {
		s.asked, s.at = true, now
	}
	limit := s.limit(last, timeout)
	down := now >= limit
	changed, s.down = down != s.down, down
	switch {
	case down:
		return changed, ask, machine.Never // no further step is due: the next message from the net causes one
	case now-last < timeout/2:
		s.asked = false
		return changed, ask, last + timeout/2
	}
	return changed, ask, limit
}

// limit returns the time at which the net counts as down, if nothing is heard until then: one
// time-out after the last message. If the time-out was shortened after nodes were pinged, that
// time may be before the pings; then the nodes get half a time-out from the pings on to answer.
func (s *Silence) limit(last, timeout time.Duration) time.Duration {
	if s.asked && !s.down && s.at >= last+timeout {
		return s.at + timeout/2
	}
	return last + timeout
}
