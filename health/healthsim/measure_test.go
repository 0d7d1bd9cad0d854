package healthsim_test

import (
	"math"
	"testing"
	"time"

	"ulnet/health/healthsim"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
)

// TestLoad: CH-1, CH-9, CH-56 and G-CH-1: idle clients send one ping per interval,
// whatever the number of servers, and busy ones none.
func TestLoad(t *testing.T) {
	spec.Covers(t, "CH-1", "CH-9", "CH-56", "G-CH-1")
	clients, servers := effort.Of(1000, 3000, 10_000), effort.Of(20, 50, 100)
	l, err := healthsim.Measured{Servers: servers, Clients: clients, Attach: 2, Seed: 1}.Load(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(l.Factor()/float64(servers)-1) > 0.01 || l.BusyPings != 0 || math.Abs(l.Pongs-l.Pings) > l.Pings/1000 { // the last pongs come later
		t.Errorf("factor %v: %+v", l.Factor(), l)
	}
	t.Logf("%+v", l)
}

// TestEviction: CH-2, CH-26 and G-CH-2: the last of many servers evicts a dead
// client in time after its last message, and soon after the first.
func TestEviction(t *testing.T) {
	spec.Covers(t, "CH-2", "CH-26", "G-CH-2")
	servers := effort.Of(100, 200, 1000)
	e, err := healthsim.Measured{Servers: servers, Clients: 50, Seed: 1}.Evict(t.Context(), 40, false)
	if err != nil {
		t.Fatal(err)
	}
	if e.Latest > 19*time.Second || e.Latest < 17500*time.Millisecond || e.Skew > 100*time.Millisecond || e.Skew == 0 {
		t.Errorf("%+v", e)
	}
	t.Logf("%+v", e)
}

// TestMassEviction: CH-27, CH-A10: ten thousand clients that die at once are gone
// everywhere within two seconds after T_evict.
func TestMassEviction(t *testing.T) {
	spec.Covers(t, "CH-27", "CH-A10")
	e, err := healthsim.Measured{Servers: 5, Clients: 10_000, Attach: -1, Seed: 1}.Evict(t.Context(), 10_000, true)
	if err != nil {
		t.Fatal(err)
	}
	if e.Latest > 17500*time.Millisecond+2*time.Second || e.Broadcasts > 5*(10_000/5/100+8) {
		t.Errorf("%+v", e)
	}
	t.Logf("%+v", e)
}

// TestRehoming: CH-16 and G-CH-4: 95 % of a dead master's clients have another
// within T_client, and nobody is evicted.
func TestRehoming(t *testing.T) {
	spec.Covers(t, "CH-16", "G-CH-4")
	r, err := healthsim.Measured{Servers: 10, Clients: 2000, Seed: 3}.Rehome(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Took) < 100 || r.Share(0.95) > r.Bound || r.Evicted != 0 {
		t.Errorf("%d of them, 95 %% within %v, the last after %v, bound %v; %d evicted", len(r.Took), r.Share(0.95), r.Share(1), r.Bound, r.Evicted)
	}
}

// TestSplit: CH-33, CH-64 and G-CH-6: of clients that reach both parts of the
// servers none is evicted in the majority, and all end there.
func TestSplit(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-64", "G-CH-6")
	s, err := healthsim.Measured{Servers: 5, Clients: 1000, Seed: 1}.Split(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Majority < 500 || s.Minority < 300 || s.Evicted != 0 || s.Rehomed*100 < s.Minority*99 || s.Neither != 0 || s.Held != 0 {
		t.Errorf("%+v", s)
	}
}
