package softroce

import (
	"fmt"
	"net/netip"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
)

// AdoptConfig is a connection that exists already: what its two ends have agreed
// upon.
type AdoptConfig struct {
	QP            verbs.QPConfig // configuration of this side's queue pair
	Peer          netip.Addr     // IP address of the peer, without a zone
	QPN, DestQP   ibta.QPN       // queue pair numbers of this side and of the peer
	SendPSN       ibta.PSN       // PSN of this side's next request
	RecvPSN       ibta.PSN       // PSN of the peer's next request
	MTU           ibta.MTU       // path MTU
	RetryCount    uint8          // how often to retransmit before the connection ends
	RNRRetryCount uint8          // 0 to 7 retries after RNR NAKs; 7: no limit
	// MSN counts the peer's messages that were received. It is in acknowledgements.
	MSN uint32
}

// Adopt makes a connection without the connection manager: the peer is not asked, and not
// told of the end. No Established event follows; the connection is ready at once. Adopt is
// for the replay of recordings that begin inside a connection. The device must be one of this
// package.
func Adopt(on verbs.Device, cfg AdoptConfig, events func(verbs.Conn, verbs.Event)) (verbs.Conn, error) {
	d, ok := on.(*device)
	if !ok {
		return nil, errParts
	}
	if !isQP(cfg.QPN) || !isQP(cfg.DestQP) || !cfg.MTU.IsValid() || cfg.MTU > d.hub.mtu || cfg.Peer.Is4() != d.hub.addr.Is4() {
		return nil, fmt.Errorf("connection with QPN %d to %d of %v, MTU code %d, does not fit this device", cfg.QPN, cfg.DestQP, cfg.Peer, cfg.MTU)
	}
	if !d.hub.demux.claim(cfg.QPN) {
		return nil, fmt.Errorf("QPN %d is in use", cfg.QPN)
	}
	c, err := newConn(d, cfg.QP, cfg.QPN, events)
	if err != nil {
		d.hub.demux.remove(cfg.QPN)
		return nil, err
	}
	c.psn, c.heard = cfg.RecvPSN&psnMask, true
	c.open(cfg.Peer, cmEnd{QPN: cfg.DestQP, PSN: cfg.SendPSN, MTU: cfg.MTU}, cfg.RetryCount, cfg.RNRRetryCount, ibta.AckTimeout(ackTimeout))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return nil, verbs.ErrClosed
	}
	c.rc.resp.msn = cfg.MSN & psnMask
	c.events.speak()
	return c, nil
}
