package main

import (
	"cmp"
	"slices"
	"syscall"
	"time"

	"ulnet/lnd/lndtest/netlab/netem"
)

// usualMTU is the MTU of links without a fault. It is large, so that only few frames must be
// emulated.
const usualMTU = 9000

// action is the beginning or the end of a fault, with its time.
type action struct {
	at    time.Duration
	fault *fault
	heal  bool
}

// actions returns the beginnings and ends of a plan's faults in the order of time.
func actions(plan []fault) []action {
	var all []action
	for i := range plan {
		f := &plan[i]
		all = append(all, action{f.At, f, false}, action{f.At + f.For, f, true})
	}
	slices.SortStableFunc(all, func(a, b action) int { return cmp.Compare(a.at, b.at) })
	return all
}

// carryOut begins or ends a fault.
func (s *soak) carryOut(a action) error {
	f, m := a.fault, s.members[a.fault.Host]
	wire := m.wires[f.Link]
	// The kernel may take long to change a link, so the actual duration of the fault is counted.
	if a.heal {
		s.counts[f.Kind].Seconds += time.Since(s.since[f]).Seconds()
		delete(s.since, f)
	} else {
		s.counts[f.Kind].Times++
		s.since[f] = time.Now()
	}
	s.note("%s %v", map[bool]string{false: "begins:", true: "ends:"}[a.heal], f)
	switch f.Kind {
	case faultLoss:
		wire.SetLoss(m.host, unlessHealed(a, f.Loss))
	case faultRate:
		wire.SetRate(m.host, unlessHealed(a, f.Rate))
	case faultLink:
		if a.heal {
			wire.Plug(m.host)
		} else {
			wire.Pull(m.host)
		}
	case faultMTU:
		wire.SetMTU(s.mtu(cmp.Or(unlessHealed(a, f.MTU), usualMTU)))
	case faultReset:
		m.host.Reset(!a.heal)
	case faultStop, faultKill:
		return s.hurt(m, a)
	default:
		m.spoil(f.Link, f.Ends, unlessHealed(a, f.Wire))
	}
	return nil
}

// minMTUIPv6 is the smallest MTU of IPv6 (RFC 8200 §5).
const minMTUIPv6 = 1280

func (s *soak) mtu(planned int) int {
	if s.cfg.ipv6 {
		return max(planned, minMTUIPv6)
	}
	return planned
}

func unlessHealed[T any](a action, v T) (zero T) {
	if a.heal {
		return zero
	}
	return v
}

// spoil makes the emulated link drop, delay or change frames.
func (m *member) spoil(link int, at ends, p netem.Plan) {
	if at&hostEnd != 0 {
		m.wires[link].Spoil(m.host, p)
	}
	if at&switchEnd != 0 {
		m.wires[link].Spoil(m.hubs[link], p)
	}
}

// hurt begins or ends a fault of a worker process.
func (s *soak) hurt(m *member, a action) error {
	switch {
	case a.fault.Kind == faultKill && a.heal:
		return s.launch(m)
	case a.fault.Kind == faultKill:
		s.kill(m)
		return nil
	case a.heal:
		return m.process.Signal(syscall.SIGCONT)
	default:
		return m.process.Signal(syscall.SIGSTOP)
	}
}
