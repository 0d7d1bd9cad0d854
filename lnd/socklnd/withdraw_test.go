package socklnd

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
)

// TestWithdraw: a peer reads nothing. Of the messages to it, the one that is being written
// stays. Those behind it are returned, except one that the caller does not want back.
func TestWithdraw(t *testing.T) {
	spec.Covers(t, "NS-12")
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{Keepalive: -1})
		h.put(probeID, pattern(400_000)) // this message stays, because it is being written
		synctest.Wait()
		for range 3 {
			h.put(probeID, pattern(400_000))
		}
		last := h.put(probeID, pattern(400_000))
		synctest.Wait()
		h.ni.Withdraw(func(m *lnd.Message) bool { return m != last })
		wantWithdrawn(h, 3)
		go func() { _, _ = io.Copy(io.Discard, k.bulkIn) }() // read everything until the connection ends
		h.await("the others leave", func() bool { return len(h.finished) == 5 })
		for _, err := range h.finished[3:] {
			if err != nil {
				t.Errorf("what stayed ended with %v", err)
			}
		}
	})
}

// TestWithdrawUnconnected: messages that wait for a connection come back too.
func TestWithdrawUnconnected(t *testing.T) {
	spec.Covers(t, "NS-12")
	bubble(t, func(t *testing.T) {
		h := start(t, "10.0.0.2", Config{
			Accept: AcceptNone,
			Dial: func(ctx context.Context, _, _ netip.AddrPort) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		})
		h.put(probeID, pattern(10))
		h.put(probeID, pattern(400_000))
		synctest.Wait()
		h.ni.Withdraw(func(*lnd.Message) bool { return true })
		wantWithdrawn(h, 2)
	})
}

func wantWithdrawn(h *host, n int) {
	h.t.Helper()
	for _, err := range h.wantFinalized(n) {
		if !errors.Is(err, lnd.ErrWithdrawn) {
			h.t.Errorf("ended with %v, want %v", err, lnd.ErrWithdrawn)
		}
	}
}
