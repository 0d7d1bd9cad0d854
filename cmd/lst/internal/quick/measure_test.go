package quick

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/wire"
)

// usual is a configuration with two clients and three servers.
func usual() Config {
	return Config{
		From: hosts(1, 2), To: hosts(3, 4, 5), Service: wire.BRWService,
		BRW: wire.BRWParams{Op: wire.Write, Check: wire.CheckNone, Length: 1 << 20}, Concurrency: 8, Time: 6 * time.Second, Key: 7,
	}
}

// rate returns a different rate for each pair: 103 from 10.0.0.1 to 10.0.0.3, and so on.
func rate(from, to nid.ProcessID) float64 {
	a, b := from.NID.Addr().As4(), to.NID.Addr().As4()
	return 100*float64(a[3]) + float64(b[3])
}

// TestRates: each pair has its own rate, bandwidth and latency, although several are measured at
// the same time and the counters wrap.
func TestRates(t *testing.T) {
	spec.Covers(t, "ST-47")
	synctest.Test(t, func(t *testing.T) {
		f, cfg := newFake(rate), usual()
		began := time.Now()
		r, err := Measure(t.Context(), f, cfg)
		if err != nil || len(r.Pairs) != 6 || !r.OK() || r.Rounds != 3 || f.ended != 1 || f.running != "" || f.most != 2 {
			t.Fatalf("%v, %+v, %+v", err, r, f)
		}
		if took := time.Since(began); took < cfg.Time || took > cfg.Time+time.Second {
			t.Errorf("it took %v", took)
		}
		for i := range r.Pairs {
			p := &r.Pairs[i]
			want := rate(cfg.From[i/3], cfg.To[i%3])
			if p.From != r.From[i/3] || p.To != r.To[i%3] || math.Abs(p.Rate/want-1) > 0.02 || math.Abs(p.Bandwidth/want/(1<<20)-1) > 0.02 {
				t.Errorf("pair %d: %+v, want a rate of %v", i, p, want)
			}
			latency := time.Duration(8 / want * float64(time.Second))
			for _, got := range []time.Duration{p.Latency.Mean, p.Latency.P50, p.Latency.P99} {
				if math.Abs(float64(got)/float64(latency)-1) > 0.1 {
					t.Errorf("pair %d: a latency of %v, want %v", i, got, latency)
				}
			}
		}
	})
}

// TestLost: if a node does not join, dies later, or refuses the test, only the pairs with this node
// fail, and their results name the reason.
func TestLost(t *testing.T) {
	for name, lose := range map[string]func(*fake){
		"has another session \"other\"": func(f *fake) { f.busy[hosts(4)[0]] = true },
		"no answer":                     func(f *fake) { f.dead[hosts(4)[0]] = time.Now() },
		"dies, no answer":               func(f *fake) { f.dead[hosts(4)[0]] = time.Now().Add(500 * time.Millisecond) },
		"refuses: cannot allocate":      func(f *fake) { f.refuses[hosts(4)[0]] = true },
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(rate)
			lose(f)
			r, err := Measure(t.Context(), f, usual())
			if err != nil || r.OK() || f.ended != 1 {
				t.Fatalf("%s: %v, %+v", name, err, r)
			}
			for i := range r.Pairs {
				p := &r.Pairs[i]
				if lost := p.To == "10.0.0.4@tcp"; lost != (p.Failed != "") || lost && !strings.Contains(p.Failed, "10.0.0.4@tcp") || !lost && p.RPCs == 0 {
					t.Errorf("%s: %+v", name, p)
				}
			}
		})
	}
}

// TestManyRounds: more rounds than a session has batches take several sessions.
func TestManyRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, cfg := newFake(rate), usual()
		many := make([]int, MaxNodes)
		for i := range many {
			many[i] = i + 2
		}
		cfg.From, cfg.To = hosts(1), hosts(many...)
		r, err := Measure(t.Context(), f, cfg)
		if err != nil || len(r.Pairs) != MaxNodes || !r.OK() || f.ended != 2 {
			t.Errorf("%v, %+v, %d sessions", err, r, f.ended)
		}
	})
}

// TestTwoNIDs: two NIDs of one node are never measured at the same time, because the counters are those of the node, and make no
// pair with each other. A pair has the rate of its own NIDs.
func TestTwoNIDs(t *testing.T) {
	spec.Covers(t, "ST-47")
	synctest.Test(t, func(t *testing.T) {
		f, cfg := newFake(rate), usual()
		cfg.From = hosts(1, 2, 6)
		primary := map[nid.NID]nid.NID{hosts(2)[0].NID: hosts(1)[0].NID, hosts(4)[0].NID: hosts(9)[0].NID, hosts(5)[0].NID: hosts(6)[0].NID}
		cfg.Own = &Own{
			NIDs:      []nid.NID{hosts(9)[0].NID, hosts(3)[0].NID},
			Primary:   func(_ context.Context, id nid.NID) nid.NID { return cmp.Or(primary[id], id) },
			Latencies: func(context.Context) ([]selftest.Latency, error) { return nil, errors.ErrUnsupported },
		}
		f.node = func(id nid.ProcessID) nid.NID {
			if slices.Contains(cfg.Own.NIDs, id.NID) {
				return cfg.Own.NIDs[0]
			}
			return cfg.Own.Primary(t.Context(), id.NID)
		}
		r, err := Measure(t.Context(), f, cfg)
		if err != nil || len(r.Pairs) != 8 || !r.OK() || r.at(2, 2) != nil || f.shared != 0 {
			t.Fatalf("%v, %+v, a node in two pairs %d times", err, r, f.shared)
		}
	})
}

// TestForce: if Force is set, nodes that belong to another console are taken.
func TestForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, cfg := newFake(rate), usual()
		f.busy[hosts(4)[0]], cfg.Force = true, true
		if r, err := Measure(t.Context(), f, cfg); err != nil || !r.OK() {
			t.Errorf("%v, %+v", err, r)
		}
	})
}

// TestInterrupt: the end of the context stops the tests and ends the session, and the pairs of
// the earlier rounds are in the result.
func TestInterrupt(t *testing.T) {
	spec.Covers(t, "ST-47")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // ends in the second of three rounds
		defer cancel()
		f := newFake(rate)
		r, err := Measure(ctx, f, usual())
		if !errors.Is(err, context.DeadlineExceeded) || f.ended != 1 || f.running != "" || r == nil || len(r.Pairs) != 4 {
			t.Errorf("%v, %+v, %+v", err, r, f)
		}
	})
}

// TestInterruptBesideDead: an interrupt ends the session also if a client does not answer, for
// which Stop would wait half a minute.
func TestInterruptBesideDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		f := newFake(rate)
		f.stop = 30 * time.Second
		if _, err := Measure(ctx, f, usual()); !errors.Is(err, context.DeadlineExceeded) || f.ended != 1 {
			t.Errorf("%v, ended %d times", err, f.ended)
		}
	})
}

// TestSlowStop: a client that does not answer at the end of a round delays the measurement by a
// few seconds only.
func TestSlowStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(rate)
		f.stop = 30 * time.Second
		began := time.Now()
		if _, err := Measure(t.Context(), f, usual()); err != nil || f.ended != 1 || time.Since(began) > 25*time.Second {
			t.Errorf("%v, ended %d times after %v", err, f.ended, time.Since(began))
		}
	})
}

// TestGentleStop: RPCs that are under way at the end of a round are not aborted, because their servers would wait for
// their data. If they do not end within seconds, force ends them, and the next round begins.
func TestGentleStop(t *testing.T) {
	spec.Covers(t, "ST-47")
	for linger, kills := range map[time.Duration]int{0: 0, time.Second: 0, time.Minute: 3} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(rate)
			f.linger = linger
			began := time.Now()
			r, err := Measure(t.Context(), f, usual())
			if took := time.Since(began); err != nil || !r.OK() || len(r.Pairs) != 6 || f.kills != kills || took > 6*time.Second+3*min(linger, 4*time.Second)+time.Second {
				t.Errorf("RPCs end after %v: %v, %+v, force %d times, after %v", linger, err, r, f.kills, took)
			}
		})
	}
}

// TestBlackHole: a pair of which no RPC ends has failed, although the console reaches both nodes and
// the first RPCs were sent.
func TestBlackHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hole := hosts(4)[0]
		f := newFake(func(from, to nid.ProcessID) float64 {
			if to == hole {
				return 0
			}
			return rate(from, to)
		})
		r, err := Measure(t.Context(), f, usual())
		if err != nil || r.OK() {
			t.Fatalf("%v, %+v", err, r)
		}
		for i := range r.Pairs {
			if p := &r.Pairs[i]; (p.Failed != "") != (p.To == hole.NID.String()) {
				t.Errorf("%+v", p)
			}
		}
	})
}

// TestRefused: an error of a command ends the measurement and, if there is a session, the session.
func TestRefused(t *testing.T) {
	for name, ended := range map[string]int{"session": 0, "group": 1, "batch": 1, "run": 1, "stat": 1, "query": 1} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(rate)
			f.fail[name] = syscall.EBUSY
			if _, err := Measure(t.Context(), f, usual()); !errors.Is(err, syscall.EBUSY) || f.ended != ended || f.running != "" {
				t.Errorf("%s: %v, ended %d times, %q runs", name, err, f.ended, f.running)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		f := newFake(rate)
		for _, id := range hosts(1, 2, 3, 4, 5) {
			f.dead[id] = time.Now()
		}
		if _, err := Measure(t.Context(), f, usual()); err == nil || f.ended != 1 {
			t.Errorf("all nodes are dead: %v, ended %d times", err, f.ended)
		}
	})
}
