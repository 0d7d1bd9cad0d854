package lnet_test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/router"
	"ulnet/lnet/wire"
)

// TestSlowSenders: strangers begin as many messages of 1 MiB as a router has memory for, and do not end them. A message of
// another node waits for router.FillTime at most: then the strangers lose their connections. When they do the same
// again they get a quarter of the memory, and messages of the other node pass at once.
func TestSlowSenders(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-19")
	synctest.Test(t, slowSenders)
}

func slowSenders(t *testing.T) {
	const strangers, credits = 8, 3 // nodes on tcp have three connections by default
	c := newCrossing(t, lnd.Tunables{PeerCredits: credits}, router.Config{Memory: 32 << 20})
	c.far.onSend = func(d *driver, m *lnd.Message) { d.up.Finalize(m, nil) }
	begun := beginAll(c, strangers, credits)
	if n := len(begun); n != strangers*credits {
		t.Fatalf("%d messages have buffers", n)
	}
	honest := passing(wire.MaxPayload, 1)
	if taken, answer := c.pass(honest); taken || answer != lnd.Hold {
		t.Fatal("there is memory left")
	}
	time.Sleep(router.FillTime - time.Second)
	synctest.Wait()
	if cut := c.driver.peersCut(); len(cut) != 0 {
		t.Fatalf("%v lose their connections too early", cut)
	}
	time.Sleep(2 * time.Second)
	synctest.Wait()
	cut := c.driver.peersCut()
	if n := len(cut); n != strangers || len(slices.Compact(cut)) != n || slices.Contains(cut, peerA) {
		t.Fatalf("%v lose their connections", c.driver.peersCut())
	}
	for _, d := range begun {
		c.ni.Delivered(d, syscall.ETIMEDOUT)
	}
	if !slices.Equal(c.driver.recv, []*lnd.Delivery{honest}) {
		t.Fatal("the message of another node waits still")
	}
	begun = beginAll(c, strangers, credits)
	if n := len(begun); n != strangers*credits/4 {
		t.Errorf("strangers have %d buffers of %d when they come again", n, strangers*credits)
	}
	for range 10 {
		if taken, _ := c.pass(passing(wire.MaxPayload, 2)); !taken {
			t.Error("a message of another node waits beside slow senders")
		}
	}
	c.routing(false) // ends those that wait
	for _, d := range begun {
		c.ni.Delivered(d, syscall.ETIMEDOUT)
	}
	if s := c.node.Stats(); s.RouteCount != 11 || s.DropReasons[lnet.TransitCut.String()] != uint64(strangers*credits+len(begun)) {
		t.Errorf("%d routed, drops %v", s.RouteCount, s.DropReasons)
	}
}

// TestSlowSendersAgain: slow senders are forgotten as peers, because the table of a large router forgets peers half a minute
// after they have lost their connections. They are slow nevertheless when they come again, until ten minutes are over.
func TestSlowSendersAgain(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "RO-19")
	synctest.Test(t, func(t *testing.T) {
		const strangers, credits = 8, 3
		c := newCrossingOf(t, lnet.Config{PeerIdle: 30 * time.Second}, lnd.Tunables{PeerCredits: credits}, router.Config{Memory: 32 << 20})
		c.far.onSend = func(d *driver, m *lnd.Message) { d.up.Finalize(m, nil) }
		// again returns how many buffers the strangers get when they begin messages again. It then cuts these messages off.
		again := func() int {
			if taken, _ := c.pass(passing(100, 2)); !taken {
				t.Error("a small message waits")
			}
			begun := beginAll(c, strangers, credits)
			c.node.StopRouting() // ends those that wait
			for _, d := range begun {
				c.ni.Delivered(d, syscall.ETIMEDOUT)
			}
			c.routing(true)
			return len(begun)
		}
		begun := beginAll(c, strangers, credits)
		if _, answer := c.pass(passing(wire.MaxPayload, 1)); answer != lnd.Hold {
			t.Fatal("there is memory left")
		}
		time.Sleep(router.FillTime + time.Second)
		synctest.Wait()
		for _, d := range begun {
			c.ni.Delivered(d, syscall.ETIMEDOUT)
		}
		c.ni.Delivered(c.driver.recv[0], nil)
		for range 6 {
			time.Sleep(time.Minute)
			synctest.Wait()
			if stranger := nid.MustParse("10.0.9.1@tcp"); c.node.HasPeer(stranger) {
				t.Fatalf("%v is remembered", stranger)
			}
			if n := again(); n != strangers*credits/4 {
				t.Fatalf("strangers have %d buffers of %d when they come again", n, strangers*credits)
			}
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if n := again(); n != strangers*credits {
			t.Errorf("strangers have %d buffers of %d after ten minutes", n, strangers*credits)
		}
	})
}

// beginAll makes each of some strange nodes begin as many messages as it has credits, each message for a different node, and
// returns the messages that have got buffers.
func beginAll(c *crossing, strangers, credits int) (begun []*lnd.Delivery) {
	c.t.Helper()
	for i := range strangers * credits {
		d := passing(wire.MaxPayload, uint64(i))
		d.From.NID = nid.MustParse(fmt.Sprintf("10.0.9.%d@tcp", 1+i/credits))
		d.Header.SrcNID, d.Header.DestNID = d.From.NID, nid.MustParse(fmt.Sprintf("10.1.9.%d@tcp1", 1+i))
		answer, err := c.ni.Parse(d)
		if err != nil || d.Dropped {
			c.t.Fatalf("message %d: %v, dropped %v", i, err, d.Dropped)
		}
		if answer != lnd.Hold {
			begun = append(begun, d)
		}
	}
	return begun
}
