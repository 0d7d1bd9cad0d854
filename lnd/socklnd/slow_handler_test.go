package socklnd

import (
	"net"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
)

// TestSlowHandler (SK-21): upcalls for a message that has arrived take longer than sock_timeout, and meanwhile the reader
// takes nothing from the connection. The peer has sent all that this side has asked for, so its connections stay.
func TestSlowHandler(t *testing.T) {
	spec.Covers(t, "SK-21")
	const header = 24 + 72
	for name, c := range map[string]struct{ length, cut int }{
		"one read":               {100, 0},
		"the header in pieces":   {100, 60},
		"the payload in pieces":  {5000, header + 1000},
		"the payload, discarded": {70_000, header + 1000},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, k := established(t, Config{Keepalive: -1})
				parse := h.parse
				h.parse = func(h *host, d *lnd.Delivery) (answer lnd.Answer, err error) {
					time.Sleep(5 * time.Minute)
					if answer, err = parse(h, d); c.length > 5000 {
						d.Sink = lnd.Payload{}
					}
					return answer, err
				}
				h.delivered = func(*lnd.Delivery) { time.Sleep(5 * time.Minute) }
				whole := kernelPut(t, 0, pattern(c.length))
				go func() {
					_, _ = k.bulkOut.Write(whole[:c.cut])
					time.Sleep(time.Second)
					_, _ = k.bulkOut.Write(whole[c.cut:])
				}()
				time.Sleep(15 * time.Minute)
				h.wantArrivals(1)
				h.wantCount(ReceiveTimeout, 0)
				if n := h.conns(); n != 3 {
					t.Errorf("%d connections, want 3", n)
				}
			})
		})
	}
}

// hasty is a stream that takes the first message at once, so that the goroutine of its sender finalizes it.
type hasty struct {
	stream
	conn net.Conn
	used bool
}

func (e *hasty) write(b []byte) (int, error) {
	if e.used {
		return 0, nil
	}
	e.used = true
	return e.conn.Write(b)
}

// TestSlowSendHandler (SK-21): the upcall for a message that has left takes longer than sock_timeout, and meanwhile no
// other message leaves on the connection. The peer has taken all bytes, so its connections stay. Afterwards a peer that
// takes nothing loses them.
func TestSlowSendHandler(t *testing.T) {
	spec.Covers(t, "SK-21")
	for name, c := range map[string]struct {
		eager    bool
		messages int
	}{
		"the sender writes":             {true, 1},
		"the sender, and another waits": {true, 2},
		"the drain writes":              {false, 1},
		"the drain, and another waits":  {false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, k := established(t, Config{Keepalive: -1})
				for _, out := range h.ni.peers.All()[0].conns {
					out.stream = &hasty{out.stream, out.net, !c.eager}
				}
				slow := 5 * time.Minute
				h.finalized = func(*lnd.Message, error) { time.Sleep(slow); slow = 0 }
				for range c.messages {
					go h.put(probeID, pattern(10))
				}
				for range c.messages {
					k.control.expectPayload(pattern(10))
				}
				h.wantFinalized(c.messages)
				h.wantCount(SendTimeout, 0)
				h.put(probeID, pattern(10))
				k.bulkOut.expectEnd()
				h.wantCount(SendTimeout, 1)
			})
		})
	}
}
