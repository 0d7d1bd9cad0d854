package sim

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSkew(t *testing.T) {
	for _, c := range []struct {
		ppm  int64
		want time.Duration // time that a second takes on the skewed clock
	}{
		{0, time.Second},
		{200, 999_800_040},    // nanoseconds: 1e9/1.0002 = 999 800 039.99
		{-200, 1_000_200_041}, // nanoseconds: 1e9/0.9998 = 1 000 200 040.01
		{1_000_000, time.Second / 2},
		{MinSkew, 1000 * time.Second},
		{2 * MinSkew, 1000 * time.Second},
		{maxSkew, time.Millisecond},
		{1 << 62, time.Millisecond},
	} {
		b := newBench(t, Config[int]{Nodes: 2})
		b.SetSkew(0, c.ppm)
		b.wake[0] = time.Second
		b.poke(0)
		b.run(time.Hour)
		if len(b.got) != 1 || b.got[0].at != c.want || b.got[0].now < time.Second {
			t.Errorf("%d ppm: timers %v, want one at %v", c.ppm, b.got, c.want)
		}
	}
}

// A timer that was set before the clock is changed follows the clock.
func TestSkewLater(t *testing.T) {
	b := newBench(t, Config[int]{Nodes: 2})
	b.wake[0] = 2 * time.Second
	b.poke(0)
	b.At(time.Second, func() { b.SetSkew(0, 1_000_000) })
	b.run(1100 * time.Millisecond)
	b.SetSkew(0, -500_000) // from now on, when it shows 1.2 s, the clock runs at half speed
	b.run(time.Hour)
	if len(b.got) != 1 || b.got[0].at != 2700*time.Millisecond || b.got[0].now != 2*time.Second {
		t.Errorf("got %v, want the timer at 2.7s", b.got)
	}
}

// A clock never runs backward, whatever is changed, and the methods at and when are inverse to
// each other.
func TestClockRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, err := New(Config[int]{Nodes: 1, Boot: func(Incarnation, Program[int]) Program[int] { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		n.Crash(0)
		local := time.Duration(0)
		for range 20 {
			n.now += rapid.Int64Range(0, 1e12).Draw(t, "pass")
			if now := n.local(0); now < local {
				t.Fatalf("clock showed %d after %d", now, local)
			} else {
				local = now
			}
			n.SetSkew(0, rapid.OneOf(rapid.Int64Range(-1000, 1000), rapid.Int64()).Draw(t, "ppm"))
			if now := n.local(0); now != local {
				t.Fatalf("clock jumped from %d to %d", local, now)
			}
			c := &n.clocks[0]
			want := int64(local) + rapid.Int64Range(1, 1e12).Draw(t, "ahead")
			v := c.when(want)
			if v <= n.now || c.at(v) < want || c.at(v-1) >= want {
				t.Fatalf("%d is shown at %d: %d before, %d then", want, v, c.at(v-1), c.at(v))
			}
		}
	})
}
