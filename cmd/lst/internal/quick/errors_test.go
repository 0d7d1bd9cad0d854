package quick

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestErrors: RPCs that fail are counted for their pair.
func TestErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(rate)
		f.errors[hosts(2)[0]] = 1
		r, err := Measure(t.Context(), f, usual())
		if err != nil || r.OK() || !r.Pairs[0].OK() || r.Pairs[3].Errors == 0 || r.Pairs[3].RPCs == 0 {
			t.Errorf("%v, %+v", err, r)
		}
	})
}

// TestEarlyErrors: RPCs that fail before the first sample, so that all units have ended by then, are counted. The
// reason why the pair has no rate is then these errors, and not that messages of this size do not arrive.
func TestEarlyErrors(t *testing.T) {
	spec.Covers(t, "ST-47")
	synctest.Test(t, func(t *testing.T) {
		f, cfg := newFake(rate), usual()
		f.early[hosts(2)[0]] = uint32(cfg.Concurrency)
		r, err := Measure(t.Context(), f, cfg)
		if err != nil || len(r.Pairs) != 6 {
			t.Fatalf("%v, %+v", err, r)
		}
		for i := range r.Pairs {
			if p := &r.Pairs[i]; i < 3 && !p.OK() || i >= 3 && (p.Errors != 8 || p.RPCs != 8 || p.Failed != "all 8 RPCs failed") {
				t.Errorf("%+v", p)
			}
		}
		var b strings.Builder
		if err := r.Print(&b); err != nil || !strings.Contains(b.String(), "failed   10.0.0.2@tcp -> 10.0.0.3@tcp: all 8 RPCs failed\n") {
			t.Errorf("%v\n%s", err, &b)
		}
	})
}

// TestOneEarlyError: a single RPC that fails before the first sample makes the measurement fail, although the other units go on.
func TestOneEarlyError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(rate)
		f.early[hosts(2)[0]] = 1
		r, err := Measure(t.Context(), f, usual())
		if err != nil || r.OK() || !r.Pairs[0].OK() || r.Pairs[3].Errors != 1 || math.Abs(r.Pairs[3].Rate/rate(hosts(2)[0], hosts(3)[0])/(7./8)-1) > 0.02 {
			t.Errorf("%v, %+v", err, r)
		}
	})
}

// TestRateUntilErrors: the rate and the latency of a pair are those of the time in which all its units ran, not of the time after all
// have ended.
func TestRateUntilErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, cfg := newFake(rate), usual()
		f.stumble = func(from, _ nid.ProcessID, since time.Duration) bool {
			return from == cfg.From[1] && since > cfg.Time/12
		}
		r, err := Measure(t.Context(), f, cfg)
		if err != nil || r.OK() {
			t.Fatalf("%v, %+v", err, r)
		}
		for i, p := range r.Pairs[3:] {
			want := rate(cfg.From[1], cfg.To[i])
			if p.Errors != 8 || p.Failed != "" || math.Abs(p.Rate/want-1) > 0.02 || math.Abs(p.Latency.Max.Seconds()*want/8-1) > 0.1 {
				t.Errorf("%+v, want a rate of %v", p, want)
			}
		}
	})
}

// TestLateError: an RPC that is under way when the batch is stopped, and then fails, counts.
func TestLateError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(rate)
		f.late[hosts(2)[0]] = 1
		if r, err := Measure(t.Context(), f, usual()); err != nil || r.OK() || !r.Pairs[0].OK() || r.Pairs[3].Errors != 1 {
			t.Errorf("%v, %+v", err, r)
		}
	})
}

// TestLostWithErrors: a pair that has failed for another reason keeps the errors that were counted before.
func TestLostWithErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(rate)
		f.early[hosts(2)[0]] = 3
		f.dead[hosts(4)[0]] = time.Now().Add(time.Second) // in the first of three rounds
		r, err := Measure(t.Context(), f, usual())
		if err != nil || !strings.HasSuffix(r.Pairs[4].Failed, fmt.Sprintf("; before that, 3 of %d RPCs failed", r.Pairs[4].RPCs)) || r.Pairs[4].Errors != 3 || r.Pairs[4].RPCs <= 8 {
			t.Errorf("%v, %+v", err, r)
		}
	})
}
