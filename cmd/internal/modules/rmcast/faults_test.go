package rmcast

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast"
)

// members starts two nodes with the group g, which neither has joined. The first one manages it.
func members(t *testing.T) (list [2]*Module) {
	t.Helper()
	addrs := []netip.Addr{netip.MustParseAddr("127.0.0.61"), netip.MustParseAddr("127.0.0.62")}
	port, err := loopback.FreePort(addrs...)
	if err != nil {
		t.Fatal(err)
	}
	for i, addr := range addrs {
		cfg := config.Default()
		cfg.Networks, cfg.AcceptPort, cfg.RuntimeDir = "tcp("+addr.String()+")", int(port), t.TempDir()
		cfg.Rmcast.Enable = true
		cfg.Rmcast.Groups = []config.McastGroup{{Name: "g", Number: 7, Managers: []nid.NID{nid.MustParse("127.0.0.61@tcp")}, FIFO: true, Window: 128, Fragment: 4096, MemberTimeout: 30 * time.Second, LeastCapacity: 64 << 10}}
		n, err := node.New(node.Config{Config: cfg, Modules: func(h node.Host) []node.Module {
			list[i] = New(h, nil)
			return []node.Module{list[i]}
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := n.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	return list
}

// TestFaultsDuringJoin: RM-24: faults that are set while a node joins a group are in effect when it has joined.
func TestFaultsDuringJoin(t *testing.T) {
	spec.Covers(t, "RM-24")
	both := members(t)
	if err := both[0].Join(t.Context(), JoinRequest{Group: "g", TimeoutMS: 60_000}); err != nil {
		t.Fatal(err)
	}
	g := both[1].groups[0]
	group, err := g.enter()
	if err != nil {
		t.Fatal(err)
	}
	if err := both[1].SetFaults(Faults{Group: "g", Datagrams: 1}); err != nil {
		t.Fatal(err)
	}
	g.entered(group)
	if _, err := g.ready(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	for { // the first messages may be for a version without the second node
		if _, err := both[0].Send(t.Context(), SendRequest{Group: "g", DeliverTimeoutMS: 60_000}, strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
		s, err := both[1].Status()
		if err != nil {
			t.Fatal(err)
		}
		if n := s.Groups[0].Stats; n["delivered"] > 0 || n["discarded"] > 0 {
			if n["discarded"] == 0 {
				t.Error("a message was delivered, and no datagram was discarded")
			}
			return
		}
	}
}

// TestFaultsAtOnce: if faults are changed while others are applied, the last ones are applied last.
func TestFaultsAtOnce(t *testing.T) {
	m := &Module{agent: new(rmcast.Agent)}
	g := &group{m: m, cfg: &config.McastGroup{Name: "g"}}
	m.groups = []*group{g}
	var applied []float64
	g.applyFaults(func(f rmcast.Faults) {
		applied = append(applied, f.Acks)
		if len(applied) < 3 {
			if err := m.SetFaults(Faults{Group: "g", Acks: f.Acks + 0.25}); err != nil {
				t.Error(err)
			}
		}
	})
	if want := []float64{0, 0.25, 0.5}; !slices.Equal(applied, want) {
		t.Errorf("applied %v, want %v", applied, want)
	}
}
