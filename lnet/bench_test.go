package lnet_test

import (
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
