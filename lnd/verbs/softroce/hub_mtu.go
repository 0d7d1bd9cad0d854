package softroce

import "ulnet/lnd/verbs/ibta"

// LinkUp is called when the link of the device's interface comes up, because the interface may have another MTU
// then. Later connections get the path MTU of the interface, but no larger one than when the device was opened.
// Connections whose packets are too long for the interface end, so that their consumers connect again.
func (d *device) LinkUp() {
	h := d.hub
	p, measures := h.port.(interface{ MTU() int })
	if !measures {
		return
	}
	m := min(h.mtu, ibta.PathMTU(p.MTU()))
	if m == 0 || !h.cm.setMTU(m) {
		return
	}
	ended := 0
	for _, c := range h.demux.conns() {
		if c.exceeds(m) {
			h.cm.disconnect(c)
			ended++
		}
	}
	h.log.Info("the path MTU has changed", "addr", h.addr, "bytes", m.Bytes(), "ended", ended)
}

// exceeds reports whether the connection's packets are longer than m permits.
func (c *conn) exceeds(m ibta.MTU) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rc != nil && !c.ended && c.rc.cfg.MTU > m.Bytes()
}

// mtu returns the path MTU of new connections.
func (s *cmShell) mtu() ibta.MTU {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cm.cfg.MTU
}

// setMTU sets the path MTU of new connections, and reports whether it has changed.
func (s *cmShell) setMTU(m ibta.MTU) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = s.cm.cfg.MTU != m
	s.cm.cfg.MTU = m
	return changed
}
