package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
	healthmod "ulnet/cmd/internal/modules/health"
	"ulnet/health"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestEvictNID: CH-61: the command evicts all clients of an NID that this server can evict. It
// lists the others, with the server that can evict them, once for each master.
func TestEvictNID(t *testing.T) {
	spec.Covers(t, "CH-61")
	f := serveFake(t)
	f.clients = fakeClients()
	one, two, three := health.ClientIDOf("a"), health.ClientIDOf("b"), health.ClientIDOf("c")
	f.clients[1].Peer.NID = f.clients[0].Peer.NID
	f.clients = append(f.clients, health.ClientInfo{Client: three, Peer: f.clients[0].Peer, State: "connected", Master: serverTwo})
	f.evictOf = map[health.ClientID]healthmod.EvictReply{
		one:   {Client: one, Master: serverOne, Incarnation: 7},
		two:   {Client: two, Result: health.OtherMaster, Master: serverTwo, Incarnation: 9},
		three: {Client: three, Result: health.OtherMaster, Master: serverTwo, Incarnation: 1},
	}
	code, out, errs := f.lnetctl(t.Context(), "client", "evict", "--nid", "10.0.0.11@tcp")
	if code != cli.Failed || out != fmt.Sprintf("client %v \"compute-1\" is being evicted from all servers\n", one) {
		t.Errorf("%d, %s", code, out)
	}
	want := fmt.Sprintf(`lnetctl: 2 of 3 clients were not evicted from all servers:
  the master of client %v is 10.0.0.2@tcp, and only that one can evict it
  the master of client %v is 10.0.0.2@tcp, and only that one can evict it
  on 10.0.0.2@tcp: lnetctl client evict --nid 10.0.0.11@tcp
`, two, three)
	if diff := cmp.Diff(want, errs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	code, out, _ = f.lnetctl(t.Context(), "client", "evict", "--nid", "10.0.0.11@tcp", "--json")
	var doc struct{ Clients []evictedDoc }
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != cli.Failed || len(doc.Clients) != 3 || doc.Clients[1].EvictReply != f.evictOf[two] {
		t.Errorf("%d, %v\n%s", code, err, out)
	}
	code, _, errs = f.lnetctl(t.Context(), "client", "evict", "--nid", "10.0.0.99@tcp")
	if code != cli.Failed || !strings.Contains(errs, "no client of 10.0.0.99@tcp is connected to this server\n  'lnetctl client list'") {
		t.Errorf("%d, %s", code, errs)
	}
	for _, args := range [][]string{{}, {one.String(), "--nid", "10.0.0.11@tcp"}, {"--nid", "nobody"}, {"--nid", ""}, {one.String(), "--timeout", "1s"}} {
		if code, _, errs := f.lnetctl(t.Context(), append([]string{"client", "evict"}, args...)...); code != cli.Usage {
			t.Errorf("%v: %d\n%s", args, code, errs)
		}
	}
}

// TestEvictWait: CH-28: with --wait the command ends when all live servers have answered. If the
// eviction ends in another way, the command prints that and fails.
func TestEvictWait(t *testing.T) {
	spec.Covers(t, "CH-28")
	f := serveFake(t)
	id := health.ClientIDOf("a")
	f.evicted = healthmod.EvictReply{Master: serverOne, Incarnation: 1<<63 + 7}
	for _, c := range []struct {
		end    healthmod.EvictionStatus
		code   int
		wanted string
	}{
		{healthmod.EvictionStatus{State: healthmod.EvictionDone}, cli.OK, "was evicted from all servers\n"},
		{
			healthmod.EvictionStatus{State: healthmod.EvictionDone, Owed: []nid.NID{serverTwo}},
			cli.OK,
			"was evicted from all live servers; these are dead, and are told if they come back soon: 10.0.0.2@tcp",
		},
		{
			healthmod.EvictionStatus{State: healthmod.EvictionKept, Master: serverTwo},
			cli.Failed,
			"was not evicted: it has chosen 10.0.0.2@tcp as its master meanwhile\n  on 10.0.0.2@tcp: lnetctl client evict " + id.String(),
		},
		{healthmod.EvictionStatus{State: healthmod.EvictionCutOff}, cli.Failed, "was evicted from this server only"},
		{healthmod.EvictionStatus{State: healthmod.EvictionUnknown}, cli.Failed, "is not known here any more"},
	} {
		f.evictionLooks = 0
		f.eviction = func(of healthmod.EvictionQuery, look int) (healthmod.EvictionStatus, error) {
			if want := (healthmod.EvictionQuery{Client: id, Incarnation: f.evicted.Incarnation}); of != want {
				t.Errorf("asked for %+v", of)
			}
			if look < 3 {
				return healthmod.EvictionStatus{State: healthmod.EvictionUnderWay, Missing: []nid.NID{serverTwo}}, nil
			}
			return c.end, nil
		}
		code, out, errs := f.lnetctl(t.Context(), "client", "evict", id.String(), "--wait")
		if code != c.code || !strings.Contains(out+errs, c.wanted) || strings.Count(errs, "waits for 10.0.0.2@tcp\n") != 1 {
			t.Errorf("%v: %d\n%s%s", c.end, code, out, errs)
		}
		f.evictionLooks = 2
		code, out, _ = f.lnetctl(t.Context(), "client", "evict", id.String(), "--wait", "--json")
		var doc evictedDoc
		if err := json.Unmarshal([]byte(out), &doc); err != nil || code != c.code || doc.Wait == nil || doc.Wait.State != c.end.State {
			t.Errorf("%v: %d, %v\n%s", c.end, code, err, out)
		}
	}
}

// TestEvictWaitTimeout: CH-28: when the time is over, the command names the servers that have
// not answered, and its exit code is 1.
func TestEvictWaitTimeout(t *testing.T) {
	spec.Covers(t, "CH-28")
	f := serveFake(t)
	var missing atomic.Pointer[[]nid.NID] // atomic, since a request may still run when the command has timed out
	missing.Store(&[]nid.NID{serverTwo, serverOne})
	f.eviction = func(healthmod.EvictionQuery, int) (healthmod.EvictionStatus, error) {
		return healthmod.EvictionStatus{State: healthmod.EvictionUnderWay, Missing: *missing.Load()}, nil
	}
	code, out, errs := f.lnetctl(t.Context(), "client", "evict", health.ClientIDOf("a").String(), "--wait", "--timeout", "2s")
	if code != cli.Failed || !strings.Contains(out, "is being evicted from all servers") ||
		!strings.Contains(errs, "lnetctl: not evicted from all servers after 2s; no answer of: 10.0.0.1@tcp 10.0.0.2@tcp\n  it goes on until") {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
	missing.Store(new([]nid.NID))
	_, _, errs = f.lnetctl(t.Context(), "client", "evict", health.ClientIDOf("a").String(), "--wait", "--timeout", "2s")
	if !strings.Contains(errs, "no answer of: most servers, of which too many are dead") {
		t.Error(errs)
	}
}
