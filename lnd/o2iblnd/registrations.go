package o2iblnd

import (
	"sync"

	"ulnet/lnd/verbs"
)

// registrations has MRs that are not registered at the moment and can be used again, so
// that a message with RDMA takes no memory for its registration. Safe for concurrent
// use.
type registrations struct {
	mu    sync.Mutex // guards spare
	spare []verbs.Renewer
}

// mostSpare bounds the registrations that are kept for later use; local policy.
const mostSpare = 64

// register registers pieces with the device, for RDMA.
func (r *registrations) register(pd verbs.PD, pieces [][]byte, access verbs.Access) (verbs.MR, error) {
	m := r.take()
	if m == nil {
		return pd.Register(pieces, access)
	}
	if err := m.Renew(pieces, access); err != nil {
		r.keep(m)
		return nil, err
	}
	return m, nil
}

// end deregisters m, which is no longer used.
func (r *registrations) end(m verbs.MR) {
	m.Deregister()
	if again, ok := m.(verbs.Renewer); ok {
		r.keep(again)
	}
}

func (r *registrations) take() verbs.Renewer {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.spare) - 1
	if last < 0 {
		return nil
	}
	m := r.spare[last]
	r.spare[last], r.spare = nil, r.spare[:last]
	return m
}

func (r *registrations) keep(m verbs.Renewer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.spare) < mostSpare {
		r.spare = append(r.spare, m)
	}
}
