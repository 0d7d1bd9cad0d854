package socklnd

import (
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
)

// flood posts messages until the connection is in a burst whose next drain is delayed.
func (u *inlines) flood(k *kernel) {
	u.t.Helper()
	for run := 0; run < burstAfter-1; _, run = u.coalescing() {
		u.postNow(k)
	}
}

// postNow posts a message, and expects that it leaves before time passes.
func (u *inlines) postNow(k *kernel) {
	u.t.Helper()
	began := u.ni.clock.Now()
	u.post(probeID, pattern(8))
	k.control.expectPayload(pattern(8))
	if synctest.Wait(); u.ni.clock.Now() != began {
		u.t.Fatalf("a message waits; %d have ended", len(u.ends))
	}
}

// postLater posts a message, and expects that it waits for a drain.
func (u *inlines) postLater() {
	u.t.Helper()
	before := len(u.ends)
	u.post(probeID, pattern(8))
	synctest.Wait()
	if c, _ := u.coalescing(); len(u.ends) != before || !c.on {
		u.t.Fatal("a message does not wait")
	}
}

func (u *inlines) writer() *writer { return &u.ni.peers.All()[0].routes.small[0].tx }

// coalescing returns the writer's state of coalescing, and the number of small messages in a row
// that its burst has counted.
func (u *inlines) coalescing() (c coalescing, run int) {
	w := u.writer()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.coalescing, w.burst.run
}

// expectEnds expects messages of 8 bytes, which leave with one write before time passes.
func (u *inlines) expectEnds(k *kernel, messages int) {
	u.t.Helper()
	for range messages {
		k.control.expectPayload(pattern(8))
	}
	if synctest.Wait(); u.ends[len(u.ends)-1].left != messages {
		u.t.Fatalf("messages ended as %v, want %d together at last", u.ends, messages)
	}
}

// TestCoalesce: in a burst the drain is delayed, so that messages leave together. Each delay in vain
// doubles the number of drains that begin at once.
func TestCoalesce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		u, k := postingHost(t)
		u.flood(k)
		for _, atOnce := range []int{1, 2, 4, 8} {
			u.postLater()
			time.Sleep(coalesceTime / 2)
			u.post(probeID, pattern(8))
			time.Sleep(coalesceTime / 2)
			u.expectEnds(k, 2)
			for range atOnce {
				u.postNow(k)
			}
		}
	})
}

// TestCoalesceLone: a message that does not follow soon after another one leaves at once: it does not wait
// for a timer or a drain.
func TestCoalesceLone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		u, k := postingHost(t)
		u.flood(k)
		time.Sleep(burstThink + 1)
		u.postNow(k)
		if _, run := u.coalescing(); run != 0 {
			t.Error("a pause does not end a burst")
		}
		for range 2 * burstAfter {
			u.postNow(k)
			time.Sleep(burstThink + 1)
		}
	})
}

// TestCoalesceEnough: the goroutine that has posted enough messages for a write writes them without waiting for
// the delayed drain. This delay was not in vain, so fewer drains begin at once after the next delay in vain.
func TestCoalesceEnough(t *testing.T) {
	bubble(t, func(t *testing.T) {
		u, k := postingHost(t)
		u.flood(k)
		w := u.writer()
		w.mu.Lock()
		w.coalescing.vain = 8
		w.mu.Unlock()
		u.postLater()
		large := (enoughBytes - 100) / 900
		for range large + 1 {
			u.post(probeID, pattern(800))
		}
		synctest.Wait()
		if c, _ := u.coalescing(); c.on || c.vain != 4 {
			t.Errorf("after enough messages for a write: %+v", c)
		}
		k.control.expectPayload(pattern(8))
		for range large + 1 {
			k.control.expectPayload(pattern(800))
		}
		if synctest.Wait(); u.ends[len(u.ends)-1].left != large+2 {
			t.Errorf("messages ended as %v", u.ends)
		}
		u.postLater()
		time.Sleep(coalesceTime)
		u.expectEnds(k, 1)
	})
}

// TestCoalesceStretch: after a delay that was not in vain the ticks are further apart. After a delay in
// vain they are as close together as at first.
func TestCoalesceStretch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		u, k := postingHost(t)
		u.flood(k)
		u.postLater()
		large := (enoughBytes - 100) / 900
		for range large + 1 {
			u.post(probeID, pattern(800))
		}
		k.control.expectPayload(pattern(8))
		for range large + 1 {
			k.control.expectPayload(pattern(800))
		}
		synctest.Wait()
		u.postLater()
		before := len(u.ends)
		// The tick that is set already finds that many bytes were posted, and sets a second one, which
		// comes 2*coalesceTime later.
		time.Sleep(2*coalesceTime + coalesceTime/2)
		if c, _ := u.coalescing(); len(u.ends) != before || !c.on {
			t.Errorf("a message has left before the second tick: %+v", c)
		}
		time.Sleep(coalesceTime)
		u.expectEnds(k, 1)
		if c, _ := u.coalescing(); c.on || c.stretch != 0 {
			t.Errorf("after a delay in vain: %+v", c)
		}
	})
}

// TestCoalesceGrowth: while many messages come the drain keeps waiting, but not for ever.
func TestCoalesceGrowth(t *testing.T) {
	bubble(t, func(t *testing.T) {
		u, k := postingHost(t)
		u.flood(k)
		u.postLater()
		n := 1
		for range coalesceTicks / 2 {
			for range enoughBytes/coalesceTicks/100 + 1 {
				u.post(probeID, pattern(8)) // about 100 bytes with headers
				n++
			}
			before := len(u.ends)
			time.Sleep(coalesceTime)
			if synctest.Wait(); len(u.ends) != before {
				t.Fatal("the drain begins while enough messages come")
			}
		}
		time.Sleep(coalesceTime)
		u.expectEnds(k, n)
	})
}

// TestCoalesceOthers: a message that is not inline, or a lazy answer at the end of a batch, does not wait
// for a delayed drain. The inline messages that wait for the drain leave at once, too, before it.
func TestCoalesceOthers(t *testing.T) {
	for name, act := range map[string]func(t *testing.T, u *inlines, k *kernel){
		"queued": func(_ *testing.T, u *inlines, _ *kernel) { u.put(probeID, pattern(8)) },
		"lazy": func(t *testing.T, u *inlines, k *kernel) {
			once := false
			u.delivered = func(*lnd.Delivery) {
				if !once {
					u.postInline(&lnd.Inline{To: probeID, Lazy: true}, pattern(8))
				}
				once = true
			}
			_, _ = k.control.Write(append(kernelPut(t, 0, pattern(8)), kernelPut(t, 0, pattern(8))...))
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				u, k := postingHost(t)
				u.flood(k)
				u.postLater()
				began := u.ni.clock.Now()
				act(t, u, k)
				k.control.expectPayload(pattern(8))
				k.control.expectPayload(pattern(8))
				if synctest.Wait(); u.ni.clock.Now() != began || u.writer().busy() {
					t.Error("a message waits for a delayed drain")
				}
			})
		})
	}
}

// TestCoalesceNoop: a NOOP does not wait for a delayed drain.
func TestCoalesceNoop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		u, k := postingHost(t)
		u.flood(k)
		u.postLater()
		w := u.writer()
		w.c.peer.mu.Lock()
		flush, _ := w.pushNoop(77)
		w.c.peer.mu.Unlock()
		if !flush {
			t.Fatal("a NOOP waits for a delayed drain")
		}
		w.Flush()
		k.control.expectPayload(pattern(8))
	})
}

// TestCoalesceShutdown: an NI that shuts down sends the messages that wait for a delayed drain.
func TestCoalesceShutdown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		u, k := postingHost(t)
		u.flood(k)
		before := len(u.ends)
		u.postLater()
		ended := make(chan error, 1)
		go func() { ended <- u.ni.Shutdown(t.Context()) }()
		k.control.expectPayload(pattern(8))
		if err := <-ended; err != nil || len(u.ends) != before+1 || u.ends[before].lost != nil {
			t.Errorf("Shutdown: %v, messages ended as %v", err, u.ends)
		}
	})
}

// TestCoalesceClosed: when the connection ends, messages that wait for a delayed drain are lost.
func TestCoalesceClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		u, k := postingHost(t)
		u.flood(k)
		before := len(u.ends)
		u.postLater()
		k.control.Close()
		u.await("end", func() bool { return len(u.ends) == before+1 })
		if u.ends[before].lost == nil {
			t.Error("a message has left on a connection that has ended")
		}
	})
}
