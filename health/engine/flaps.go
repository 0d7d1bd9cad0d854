package engine

import (
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// flaps limits how often new incarnations of a client connect, so that a client that restarts
// over and over does not keep all servers busy. It counts for each client and node separately,
// so that one node cannot use up the limit of another node's client.
type flaps struct {
	incarnations map[flapping]flap
	until        time.Duration
}

type flapping struct {
	id   wire.ClientID
	node nid.NID
}

type flap struct {
	last  uint64 // the incarnation that was counted last
	count int    // number of incarnations counted in the present window
}

func (f *flaps) init() { f.incarnations, f.until = make(map[flapping]flap), machine.Never }

// allow counts an incarnation once, and reports whether it may connect.
func (f *flaps) allow(s *Server, id flapping, incarnation uint64) bool {
	if len(f.incarnations) == 0 {
		f.until = s.now + s.cfg.FlapWindow
	}
	n := f.incarnations[id]
	if n.count > 0 && n.last == incarnation {
		return true
	}
	if n.count >= s.cfg.MaxIncarnations || n.count == 0 && len(f.incarnations) >= 2*s.cfg.MaxClients {
		return false
	}
	f.incarnations[id] = flap{incarnation, n.count + 1}
	return true
}

// expire begins a new window for counting.
func (f *flaps) expire(s *Server) {
	if s.now >= f.until {
		f.init()
	}
}
