package lnetsim

import "testing"

func TestExchange(t *testing.T) {
	nodes, messages := 50, 5_000
	a, err := Exchange(nodes, messages, 1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Exchange(nodes, messages, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", a)
	if a.Digest != b.Digest || a.Events != b.Events {
		t.Errorf("two runs of a seed: digests %x and %x, %d and %d events", a.Digest, b.Digest, a.Events, b.Events)
	}
	if c, err := Exchange(nodes, messages, 2); err != nil || c.Digest == a.Digest {
		t.Errorf("another seed: digest %x, error %v", c.Digest, err)
	}
}

func BenchmarkExchange(b *testing.B) {
	for b.Loop() {
		s, err := Exchange(1000, 1_000_000, 1)
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("%+v", s)
		b.ReportMetric(float64(s.Messages)/s.Wall.Seconds(), "messages/s")
		b.ReportMetric(float64(s.BytesPerStack), "B/stack")
	}
}
