package socklnd

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"

	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

const lnetHeaders = ksock.MsgHeaderSize + wire.HeaderSize

// putBulk sends n messages with a payload of 1 MiB.
func (h *host) putBulk(n int, payload []byte) {
	for range n {
		h.put(probeID, payload)
	}
}

// putUrgent sends a message with priority.
func (h *host) putUrgent(payload []byte) {
	m := newPut(h.id(), probeID, payload)
	m.Priority = true
	h.ni.Send(m)
}

// wantFirst checks that the next message on p has this payload.
func wantFirst(t *testing.T, p *probe, payload []byte) {
	t.Helper()
	if got := p.read(lnetHeaders + len(payload)); !bytes.HasSuffix(got, payload) {
		t.Errorf("%d bytes came that do not end in the priority message", len(got))
	}
}

// TestPriorityOvertakesBulk: there are eight bulk connections, each with a queue of 1 MiB
// messages that the peer does not read. A priority message, small or large, arrives at once,
// before any of these.
func TestPriorityOvertakesBulk(t *testing.T) {
	const streams, depth = 8, 4
	for name, size := range map[string]int{"8 bytes": 8, "1 MiB": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, l := dialScene(t, Config{ConnsPerPeer: streams})
				h.put(probeID)
				control := l.answered(t, dialCtl, replyCtl)
				control.read(lnetHeaders)
				var in, bulk []*probe
				for range streams {
					in = append(in, l.answered(t, dialIn, replyOut))
					bulk = append(bulk, l.answered(t, dialOut, replyIn))
				}
				synctest.Wait()
				payload := pattern(1 << 20)
				h.putBulk(streams*depth, payload)
				synctest.Wait()
				for _, c := range h.ni.Snapshot().Peers[0].Conns {
					if want := int64(depth * (lnetHeaders + 1<<20)); c.Type == ksock.BulkOut && c.QueuedBytes != want {
						t.Errorf("%d bytes in a queue, want %d", c.QueuedBytes, want)
					}
				}
				urgent := bytes.Repeat([]byte{0xaa}, size)
				h.putUrgent(urgent)
				wantFirst(t, in[0], urgent)
				synctest.Wait()
				h.wantFinalized(2) // the message that opened the connections, and the urgent one
				for _, p := range bulk {
					for range depth {
						p.read(lnetHeaders + 1<<20)
					}
				}
				h.wantFinalized(2 + streams*depth)
			})
		})
	}
}

// TestPriorityOnOneConnection: if a peer has one connection for all messages, a priority message
// waits for the batch that is being written and for nothing else.
func TestPriorityOnOneConnection(t *testing.T) {
	for name, open := range map[string]string{
		"ANY in version 2":    inVersion2(hello + "00000000 00000000"),
		"CONTROL and no bulk": helloCtl,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				n := newMemNet()
				h := start(t, "10.0.0.2", n.config(Config{}))
				n.silent[probeID.NID.Addr()] = true
				p := n.connect(t, "10.0.0.1:1023", "10.0.0.2:988")
				go p.send(request, open)
				p.read(56)
				synctest.Wait()
				h.putBulk(20, pattern(1<<20))
				synctest.Wait()
				urgent := []byte(strings.Repeat("!", 100))
				h.putUrgent(urgent)
				p.read(lnetHeaders + 1<<20) // the message that is being written cannot be overtaken
				wantFirst(t, p, urgent)
			})
		})
	}
}

// TestPriorityBeforeConnections: among messages that wait for a connection the
// priority ones are first.
func TestPriorityBeforeConnections(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{})
		h.putBulk(3, pattern(1<<20))
		h.putUrgent([]byte("now"))
		wantFirst(t, l.answered(t, dialCtl, replyCtl), []byte("now"))
	})
}

// TestPriorityKeepsOrder: a priority message does not pass an earlier priority message.
func TestPriorityKeepsOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{})
		for i := range byte(50) {
			h.putUrgent([]byte{i})
		}
		for i := range byte(50) {
			wantFirst(t, k.bulkOut, []byte{i})
		}
	})
}
