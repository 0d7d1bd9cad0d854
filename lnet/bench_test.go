package lnet_test

import (
	"sync/atomic"
	"testing"

	"ulnet/lnd"
	"ulnet/lnet"
)

// BenchmarkSend measures the cost of a message in lnet: the choice of NI and peer, both
// credits and their return, with a driver that finalizes at once.
func BenchmarkSend(b *testing.B) {
	r, m := benchRig(b)
	for b.Loop() {
		r.Send(m)
	}
}

// BenchmarkSendInTurn measures what BenchmarkSend does, with messages to four peers in turn.
func BenchmarkSendInTurn(b *testing.B) {
	r, _ := benchRig(b)
	var messages [4]*lnet.Message
	for i := range messages {
		messages[i] = put(numbered(i), 1)
	}
	for i := 0; b.Loop(); i++ {
		r.Send(messages[i%len(messages)])
	}
}

// BenchmarkSendParallel measures what BenchmarkSend does, with as many goroutines as there are cores, each of
// which sends to a peer of its own: with -cpu 1,2 it shows the cost of what peers share.
func BenchmarkSendParallel(b *testing.B) {
	r, _ := benchRig(b)
	var senders atomic.Int32
	b.RunParallel(func(pb *testing.PB) {
		m := put(numbered(int(senders.Add(1))), 1)
		for pb.Next() {
			r.Send(m)
		}
	})
}

// silentUpper is an upper layer that keeps no message.
type silentUpper struct{ upper }

func (*silentUpper) Sent(*lnet.Message, error) {}

func benchRig(b *testing.B) (*lnet.Node, *lnet.Message) {
	b.Helper()
	node := newNode(&silentUpper{})
	d := &driver{id: self, onSend: func(d *driver, m *lnd.Message) { d.up.Finalize(m, nil) }}
	if _, err := node.AddNI(d, lnd.Config{Net: tcp}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = node.Shutdown(over()) })
	b.ReportAllocs()
	return node, put(peerA, 1)
}
