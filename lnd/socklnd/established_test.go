package socklnd

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
)

// kernel is a hand-made peer at 10.0.0.1 with all three connections to our NI at 10.0.0.2. Its
// fields are named by the types of the connections as this peer sees them.
type kernel struct {
	net                      *memNet
	control, bulkIn, bulkOut *probe
}

// established brings up our NI and a kernel that has dialled it.
func established(t *testing.T, cfg Config, tweaks ...func(*lnd.Config)) (*host, *kernel) {
	t.Helper()
	n := newMemNet()
	h := start(t, "10.0.0.2", n.config(cfg), tweaks...)
	h.parse, h.patience = validate, time.Hour
	k := &kernel{net: n}
	for i, c := range []struct {
		to           **probe
		opens, wants string
	}{{&k.control, helloCtl, answerCtl}, {&k.bulkIn, helloIn, answerOut}, {&k.bulkOut, helloOut, answerIn}} {
		p := n.connect(t, fmt.Sprintf("10.0.0.1:%d", 1023-i), "10.0.0.2:988")
		p.send(request, c.opens)
		p.expect(c.wants)
		*c.to = p
	}
	h.await("PeerUp", func() bool { return len(h.ups) == 1 })
	synctest.Wait()
	return h, k
}

// validate refuses messages that lnet refuses, and takes all others.
func validate(_ *host, d *lnd.Delivery) (lnd.Answer, error) {
	if err := d.Header.Validate(); err != nil {
		return lnd.Accept, err
	}
	takeAll(d)
	return lnd.Accept, nil
}

// kernelPut is a PUT of the kernel with the given cookie.
func kernelPut(t *testing.T, cookie uint64, payload []byte) []byte {
	t.Helper()
	m := newPut(probeID, nid.ProcessID{NID: nid.MustParse("10.0.0.2@tcp"), PID: nid.LustrePID}, payload)
	b, _ := ksock.MsgHeader{Type: ksock.LNet, Cookies: [2]uint64{cookie, 0}}.AppendBinary(nil)
	b, err := m.Header.AppendBinary(b)
	if err != nil {
		t.Fatal(err)
	}
	return append(b, payload...)
}

func noop(cookies ...uint64) string {
	return fmt.Sprintf("%x", must(ksock.MsgHeader{Type: ksock.Noop, Cookies: [2]uint64{cookies[0], cookies[1]}}.AppendBinary(nil)))
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// TestBadMessages: a message that breaks the protocol ends all connections of its peer, and
// none of another peer at the same address.
func TestBadMessages(t *testing.T) {
	const lnetHeader = "c1000000 00000000 0000000000000000 0000000000000000" +
		"0200000a00000200 0100000a00000200 39300000 39300000 "
	body := strings.Repeat("00", 40)
	for _, tt := range []struct {
		name, send string
		why        Reason
	}{
		{"unknown message type", "c2000000 00000000 0000000000000000 0000000000000000", BadMessageType},
		{"http", fmt.Sprintf("%x", "GET /index.html HTTP/1.0\r\n"), BadMessageType},
		{"ack of no cookie", noop(0, 7), BadAck},
		{"ack of two cookies", noop(9, 7), BadAck},
		{"ack of a range", noop(7, 9), BadAck},
		{"ack of a huge range", noop(2, 1<<60), BadAck},
		{"keepalive with a cookie", noop(5, 1), BadAck},
		{"ack within a message", strings.Replace(pingGet, "0000000000000000 ;", "0700000000000000 ;", 1), BadAck},
		{"HELLO as message", lnetHeader + "04000000 00000000" + body, BadMessage},
		{"unknown LNet type", lnetHeader + "09000000 00000000" + body, BadMessage},
		{"GET with payload", lnetHeader + "02000000 01000000" + body, BadMessage},
		{"ACK with payload", lnetHeader + "00000000 01000000" + body, BadMessage},
		{"payload above 1 MiB", lnetHeader + "01000000 01001000" + body, BadMessage},
		{"payload of 4 GiB", lnetHeader + "01000000 ffffffff" + body, BadMessage},
		{"end within the message header", "c1000000 00", CutMessage},
		{"end within the LNet header", lnetHeader, CutMessage},
		{"end within the payload", lnetHeader + "01000000 10000000" + body + "0123", CutMessage},
		{"end between messages", noop(0, 1), PeerClosed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, k := established(t, Config{})
				other := k.net.connect(t, "10.0.0.1:1000", "10.0.0.2:988")
				other.send(request, strings.Replace(helloCtl, "39300000", "67120000", 1)) // another process on the same host dials
				other.read(56)
				go func() {
					k.bulkOut.send(tt.send)
					if tt.why == CutMessage || tt.why == PeerClosed {
						k.bulkOut.Close()
					}
				}()
				k.control.expectEnd()
				k.bulkIn.expectEnd()
				h.await("PeerDown", func() bool { return len(h.downs) == 1 })
				h.wantCount(tt.why, 1)
				go other.send(pingGet)
				h.wantArrivals(1)
				other.expectOpen(time.Second)
			})
		})
	}
}

// TestToleratedMessages: unusual messages do not end the connections.
func TestToleratedMessages(t *testing.T) {
	for name, send := range map[string]string{
		"keepalive":                       noop(0, 1),
		"keepalive of two ones":           noop(1, 1),
		"NOOP without cookies":            noop(0, 0),
		"NOOP with only the first cookie": noop(9, 0),
		"checksum in version 3":           strings.Replace(pingGet, "c1000000 00000000", "c1000000 12345678", 1),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, k := established(t, Config{})
				before := len(h.arrived)
				go k.control.send(send, pingGet)
				h.await("the ping", func() bool { return len(h.arrived) > before })
				k.control.expectOpen(time.Second)
			})
		})
	}
}
