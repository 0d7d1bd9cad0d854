package socklnd

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

func TestLargeNIDDoesNotFit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{})
		m := newPut(h.id(), probeID)
		m.Header.DestNID = nid.MustParse("fd88::1@tcp")
		h.ni.Send(m)
		h.put(probeID)
		errs := h.wantFinalized(1)
		if !errors.Is(errs[0], syscall.EINVAL) || !errors.Is(errs[0], wire.ErrLargeNID) {
			t.Errorf("ended with %v", errs[0])
		}
		k.control.read(96)
		h.wantFinalized(2)
	})
}

// TestFailEndsMessages: when a connection fails, its messages that are queued, being written
// or being received end with an error, once.
func TestFailEndsMessages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{})
		for range 200 { // messages that stay queued, since the peer does not read
			h.put(probeID, pattern(100))
		}
		_, _ = k.bulkOut.Write(kernelPut(t, 0, pattern(100))[:130])
		synctest.Wait()
		k.bulkOut.Close()
		for _, err := range h.wantFinalized(200) {
			if !errors.Is(err, syscall.EIO) {
				t.Fatalf("ended with %v", err)
			}
		}
		h.await("Delivered with an error", func() bool { return len(h.broken) == 1 })
	})
}

func TestShutdownDrains(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{})
		for range 100 {
			h.put(probeID, pattern(8))
		}
		done := make(chan error)
		go func() { done <- h.ni.Shutdown(t.Context()) }()
		synctest.Wait()
		h.put(probeID) // sent after Shutdown began: too late
		if err := h.wantFinalized(1)[0]; !errors.Is(err, syscall.ESHUTDOWN) {
			t.Errorf("late message ended with %v", err)
		}
		k.control.read(100 * 104)
		if err := <-done; err != nil {
			t.Error(err)
		}
		for _, err := range h.wantFinalized(101)[1:] {
			if err != nil {
				t.Error(err)
			}
		}
		k.control.expectEnd()
	})
}

func TestShutdownGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{})
		h.parse = func(*host, *lnd.Delivery) (lnd.Answer, error) { return lnd.Hold, nil }
		k.control.send(pingGet) // lnet holds this message until the end
		for range 100 {
			h.put(probeID, pattern(8))
		}
		unreachable := nid.ProcessID{NID: nid.MustParse("10.0.0.77@tcp"), PID: nid.LustrePID}
		k.net.mu.Lock()
		k.net.silent[unreachable.NID.Addr()] = true
		k.net.mu.Unlock()
		h.put(unreachable)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begin := time.Now()
		if err := h.ni.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown returned %v", err)
		}
		if d := time.Since(begin); d != 3*time.Second {
			t.Errorf("after %v", d)
		}
		for _, err := range h.wantFinalized(101) {
			if !errors.Is(err, syscall.ESHUTDOWN) {
				t.Errorf("ended with %v", err)
			}
		}
	})
}

// TestSendFromFinalize: sending the next message from inside Finalize neither recurses nor
// deadlocks.
func TestSendFromFinalize(t *testing.T) {
	f := newTCPFabric()
	a := start(t, "127.0.0.1", f.config(Config{}))
	b := start(t, "127.0.0.2", f.config(Config{}))
	rounds := effort.Of(4000, 20_000, 20_000)
	left := rounds
	a.finalized = func(m *lnd.Message, err error) {
		if left--; left > 0 && err == nil {
			a.ni.Send(m)
		}
	}
	b.parse = func(*host, *lnd.Delivery) (lnd.Answer, error) { return lnd.Accept, nil }
	a.put(b.id(), pattern(8))
	b.await("arrivals", func() bool { return len(b.arrived) == rounds })
}

// slowUp is a host whose PeerUp lasts until done is closed.
type slowUp struct {
	*host
	done chan struct{}
}

func (h slowUp) PeerUp(p nid.ProcessID) {
	<-h.done
	h.host.PeerUp(p)
}

// TestShutdownAwaitsUpcalls: a goroutine that reports the failure of its message has to
// report another event after that. Shutdown waits for it, so no upcall follows Shutdown.
func TestShutdownAwaitsUpcalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		h := start(t, "10.0.0.2", n.config(Config{}))
		up, failing := make(chan struct{}), make(chan struct{})
		h.ni.up = slowUp{h, up}
		h.put(probeID)
		h.wantFinalized(1)
		h.finalized = func(*lnd.Message, error) { <-failing }
		go h.put(probeID) // fails, because no dial is allowed yet
		synctest.Wait()
		p := n.connect(t, "10.0.0.1:1023", "10.0.0.2:988")
		p.send(request, helloCtl)
		p.expect(answerCtl)
		synctest.Wait()
		ended := make(chan struct{})
		go func() { _ = h.ni.Shutdown(context.Background()); close(ended) }()
		synctest.Wait()
		close(failing) // now the last message can be finalized
		synctest.Wait()
		select {
		case <-ended:
			t.Error("Shutdown has returned before PeerUp")
		default:
		}
		close(up)
		<-ended
	})
}
