package portals

import "syscall"

// SetLazyBits makes a lazy portal hold only PUTs with these match bits, until ClearLazy. It drops other PUTs that no
// ME takes, as a portal that is not lazy does. A program whose MEs all have the same match bits calls it, because a
// PUT with other bits would be held until its connection ends: on TCP it would block that connection, and it would
// take a slot of its sender, or of the gateway by which it came. Kernels hold such PUTs. EINVAL: no such portal, or
// it is not lazy, or SetShare has set no bound.
func (t *Table) SetLazyBits(index int, bits uint64) error {
	p := t.portal(index)
	if p == nil {
		return opError("SetLazyBits", syscall.EINVAL)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.lazy || p.share == nil || p.share.inbox != nil {
		return opError("SetLazyBits", syscall.EINVAL)
	}
	p.share.only = &bits
	return nil
}

// keeps reports whether the portal holds a PUT with these match bits that no ME takes. The caller holds p.mu.
func (p *portal) keeps(bits uint64) bool {
	return p.lazy && (p.share == nil || p.share.only == nil || *p.share.only == bits)
}
