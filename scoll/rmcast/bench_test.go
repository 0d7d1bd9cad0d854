package rmcast_test

import "testing"

// BenchmarkSend sends a message to seven others in one process, without a network.
func BenchmarkSend(b *testing.B) {
	r := newStillRing(b, 8)
	data := make([]byte, 2048)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.ends[3].group.Send(b.Context(), data); err != nil {
			b.Fatal(err)
		}
	}
}
