package lo

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// chatter answers each message with another one, until it has sent as many as the field most says.
type chatter struct {
	lnd.Upcalls
	ni        lnd.NI
	sent      int // messages sent so far; used only by the goroutine that delivers
	most      int // largest value of sent; -1: no limit
	delivered atomic.Int64
}

func (*chatter) Parse(*lnd.Delivery) (lnd.Answer, error) { return lnd.Accept, nil }

func (*chatter) Finalize(*lnd.Message, error) {}

func (c *chatter) Delivered(*lnd.Delivery, error) {
	c.delivered.Add(1)
	c.send()
}

func (c *chatter) send() {
	if c.sent != c.most {
		c.sent++
		c.ni.Send(&lnd.Message{Header: wire.Header{Type: wire.Put, SrcNID: nid.Lo0()}})
	}
}

// TestTurn: if a node answers its own messages without end, the goroutine that sent the first
// message is not kept for ever. Other goroutines deliver further messages, until the NI is shut
// down.
func TestTurn(t *testing.T) {
	spec.Covers(t, "PT-39")
	for _, most := range []int{1, turn, turn + 1, 10 * turn, -1} {
		synctest.Test(t, func(t *testing.T) {
			c := &chatter{most: most}
			ni, err := Driver{}.Startup(lnd.Config{Clock: machine.RealClock()}, c)
			if err != nil {
				t.Fatal(err)
			}
			c.ni = ni
			c.send()
			if first := c.delivered.Load(); first < int64(turn) && first != int64(most) {
				t.Errorf("%d messages are delivered at once, of %d", first, most)
			}
			if most > 0 {
				time.Sleep(time.Second)
				if n := c.delivered.Load(); n != int64(most) {
					t.Errorf("%d of %d messages are delivered", n, most)
				}
			}
			if err := ni.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}
