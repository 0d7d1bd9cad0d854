package lnd

import "net/netip"

// Tap receives every byte that a stream driver sends and receives. A driver
// without a Tap pays one nil comparison a run. The implementation is
// lnd/capture.
type Tap interface {
	// Flow is called when a connection begins, before its first byte.
	// dialled tells whether this side opened it. A nil Flow captures nothing.
	Flow(local, remote netip.AddrPort, dialled bool) Flow
}

// Flow is one captured connection. Sent and Received may be called at the
// same time, each from one goroutine at a time; b is valid during the call.
type Flow interface {
	Sent(b []byte)
	Received(b []byte)
	Close()
}
