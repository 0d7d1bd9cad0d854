package control_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
	. "ulnet/cmd/internal/control"
	healthmod "ulnet/cmd/internal/modules/health"
	"ulnet/cmd/internal/modules/scoll"
	"ulnet/health"
	"ulnet/health/boltstore"
	"ulnet/lnet/nid"
)

// fakeHealth answers with what there is, and notes what it is asked.
type fakeHealth struct {
	filters    []healthmod.HealthFilter
	everywhere []healthmod.HealthEverywhereFilter
	past       []healthmod.HealthPastFilter
	evictions  []healthmod.HealthEvictionOf
	said       []string
	err        error
}

var (
	draining     = true
	healthStatus = healthmod.HealthStatus{
		Timing: healthmod.HealthTiming{PingMS: 5000, QuorumMS: -1},
		Server: &healthmod.HealthServer{
			State: healthmod.HealthRunning, Alive: 2, Known: 3, ServerStatus: health.ServerStatus{Self: target.NID, Quorum: true, Clients: 7},
			Store: &healthmod.HealthStore{Path: "/health.db", Stats: boltstore.Stats{Records: 7, Slowest: time.Millisecond, SetAside: "/old"}},
			Stats: map[string]uint64{"rejected_busy": 3},
		},
		Client: &healthmod.HealthClient{
			Name: "compute-1", Servers: []nid.NID{target.NID}, Stats: map[string]uint64{},
			ClientStatus: health.ClientStatus{Client: health.ClientIDOf("x"), State: "settled", Master: target.NID, Attached: []nid.NID{target.NID}},
		},
	}
	healthClient    = health.ClientInfo{Client: health.ClientIDOf("x"), Name: "a/b c?", Peer: target, State: "orphaned", Master: target.NID, Since: time.Second}
	healthTombstone = health.TombstoneInfo{Client: health.ClientIDOf("x"), Incarnation: 7, Name: "a", Peer: target, Age: time.Second, Server: target.NID, Withdrawn: true}
	healthServers   = []healthmod.HealthPeer{{NID: target.NID, Self: true, Alive: true, Lifetimes: 2, Clients: 3, Draining: &draining}, {NID: nid.MustParse("fd88::1@tcp")}}
)

func (f *fakeHealth) HealthStatus() (healthmod.HealthStatus, error) { return healthStatus, f.err }

func (f *fakeHealth) HealthClients(filter healthmod.HealthFilter) (healthmod.HealthClients, error) {
	f.filters = append(f.filters, filter)
	return healthmod.HealthClients{Matching: 2, More: true, Clients: []health.ClientInfo{healthClient}}, f.err
}

func (f *fakeHealth) HealthClient(name string) (health.ClientInfo, error) {
	f.said = append(f.said, name)
	return healthClient, f.err
}

func (f *fakeHealth) HealthHistory(filter healthmod.HealthPastFilter) (healthmod.HealthPast, error) {
	f.past = append(f.past, filter)
	return healthmod.HealthPast{Matching: 1, Evictions: []health.Past{{Event: health.Event{Client: health.ClientIDOf("x"), Name: "a"}}}}, f.err
}

func (f *fakeHealth) HealthTombstones(filter healthmod.HealthTombstoneFilter) (healthmod.HealthTombstones, error) {
	f.past = append(f.past, healthmod.HealthPastFilter(filter))
	return healthmod.HealthTombstones{Matching: 3, More: true, Tombstones: []health.TombstoneInfo{healthTombstone}}, f.err
}

func (f *fakeHealth) HealthEverywhere(_ context.Context, filter healthmod.HealthEverywhereFilter) (healthmod.HealthEverywhere, error) {
	f.everywhere = append(f.everywhere, filter)
	return healthmod.HealthEverywhere{Differ: 1, Unreached: []scoll.Unreached{{NID: target.NID, Error: "dead"}}}, f.err
}

func (f *fakeHealth) HealthServers() ([]healthmod.HealthPeer, error) { return healthServers, f.err }

func (f *fakeHealth) HealthEvict(_ context.Context, r healthmod.HealthEvict) (healthmod.HealthEvicted, error) {
	return healthmod.HealthEvicted{Client: r.Client, Result: health.OtherMaster, Master: target.NID}, f.err
}

func (f *fakeHealth) HealthEviction(of healthmod.HealthEvictionOf) (healthmod.HealthEviction, error) {
	f.evictions = append(f.evictions, of)
	return healthmod.HealthEviction{State: healthmod.EvictionUnderWay, Missing: []nid.NID{target.NID}}, f.err
}

func (f *fakeHealth) HealthDrain(r healthmod.HealthDrain) error {
	f.said = append(f.said, map[bool]string{true: "drain", false: "undrain"}[r.On])
	return f.err
}

func (f *fakeHealth) routes() []Route {
	return []Route{
		healthmod.OpHealthStatus.Do(Ask(f.HealthStatus)), healthmod.OpHealthClients.Do(Quick(f.HealthClients)),
		healthmod.OpHealthClient.Do(Quick(func(r healthmod.HealthClientName) (health.ClientInfo, error) { return f.HealthClient(r.Client) })),
		healthmod.OpHealthServers.Do(Ask(f.HealthServers)), healthmod.OpHealthEverywhere.Do(f.HealthEverywhere),
		healthmod.OpHealthHistory.Do(Quick(f.HealthHistory)), healthmod.OpHealthTombstones.Do(Quick(f.HealthTombstones)),
		healthmod.OpHealthEvict.Do(f.HealthEvict), healthmod.OpHealthEviction.Do(Quick(f.HealthEviction)), healthmod.OpHealthDrain.Do(Act(f.HealthDrain)),
	}
}

// TestHealth: what is asked arrives, and what is answered comes back, whatever
// stands in a name.
func TestHealth(t *testing.T) {
	f := &fakeHealth{}
	c := NewClient(serve(t, Config{Routes: f.routes()}).path)
	tells(t, "status", healthStatus, c, healthmod.OpHealthStatus)
	tells(t, "servers", healthServers, c, healthmod.OpHealthServers)
	filters := []healthmod.HealthFilter{{}, {Master: nid.MustParse("fd88::1@tcp"), NID: target.NID, State: "orphaned", Limit: 7}}
	for _, filter := range filters {
		list, err := healthmod.OpHealthClients.Call(t.Context(), c, filter)
		if err != nil || list.Matching != 2 || !list.More || len(list.Clients) != 1 || list.Clients[0] != healthClient {
			t.Errorf("%+v, %v", list, err)
		}
	}
	if diff := cmp.Diff(filters, f.filters, byValue); diff != "" {
		t.Errorf("filters (-want +got):\n%s", diff)
	}
	for _, name := range []string{"a/b c?", "..", "50%&client=x", ""} {
		if info, err := healthmod.OpHealthClient.Call(t.Context(), c, healthmod.HealthClientName{Client: name}); err != nil || info != healthClient {
			t.Errorf("%+v, %v", info, err)
		}
	}
	evicted, err := healthmod.OpHealthEvict.Call(t.Context(), c, healthmod.HealthEvict{Client: healthClient.Client})
	if want := (healthmod.HealthEvicted{Client: healthClient.Client, Result: health.OtherMaster, Master: target.NID}); err != nil || evicted != want {
		t.Errorf("%+v, %v", evicted, err)
	}
	wide := healthmod.HealthEverywhereFilter{Limit: 7, Differ: true}
	if list, err := healthmod.OpHealthEverywhere.Call(t.Context(), c, wide); err != nil || list.Differ != 1 || len(list.Unreached) != 1 || f.everywhere[0] != wide {
		t.Errorf("%+v, %v of %+v", list, err, f.everywhere)
	}
	of := healthmod.HealthEvictionOf{Client: healthClient.Client, Incarnation: 1<<63 + 7}
	if e, err := healthmod.OpHealthEviction.Call(t.Context(), c, of); err != nil || e.State != healthmod.EvictionUnderWay || len(e.Missing) != 1 || f.evictions[0] != of {
		t.Errorf("%+v, %v of %+v", e, err, f.evictions)
	}
	if err := errors.Join(healthmod.OpHealthDrain.Call(t.Context(), c, healthmod.HealthDrain{On: true}), healthmod.OpHealthDrain.Call(t.Context(), c, healthmod.HealthDrain{})); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"a/b c?", "..", "50%&client=x", "", "drain", "undrain"}, f.said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHealthErrors: errors keep their number and what to do; what is no request is
// refused before the node sees it.
func TestHealthErrors(t *testing.T) {
	f := &fakeHealth{err: cli.Hint(syscall.ESRCH, "enable it")}
	d := serve(t, Config{Routes: f.routes()})
	c := NewClient(d.path)
	_, status := healthmod.OpHealthStatus.Call(t.Context(), c, None{})
	_, clients := healthmod.OpHealthClients.Call(t.Context(), c, healthmod.HealthFilter{})
	_, client := healthmod.OpHealthClient.Call(t.Context(), c, healthmod.HealthClientName{Client: "x"})
	_, servers := healthmod.OpHealthServers.Call(t.Context(), c, None{})
	_, evict := healthmod.OpHealthEvict.Call(t.Context(), c, healthmod.HealthEvict{Client: healthClient.Client})
	for i, err := range []error{status, clients, client, servers, evict, healthmod.OpHealthDrain.Call(t.Context(), c, healthmod.HealthDrain{})} {
		if !errors.Is(err, syscall.ESRCH) || cli.HintOf(err) != "enable it" {
			t.Errorf("%d: %v with hint %q", i, err, cli.HintOf(err))
		}
	}
	for _, request := range []string{
		"GET /v1/health/clients?master=nobody", "GET /v1/health/clients?limit=-1", "GET /v1/health/clients?limit=100001",
		"GET /v1/health/clients?limit=x", "GET /v1/health/clients?nid=nobody", "GET /v1/health/everywhere?limit=-1", "GET /v1/health/everywhere?differ=x", "GET /v1/health/everywhere?nid=x",
		"GET /v1/health/eviction?client=7&incarnation=1",
		"GET /v1/health/eviction?client=00000000000000000000000000000001&incarnation=-1", "GET /v1/health/clients?name=x",
		`POST /v1/health/evict {"client":"client-4"}`, `POST /v1/health/evict {"client":"` + strings.Repeat("0", 32) + `"}`,
		`POST /v1/health/evict {"name":"client-4"}`, "POST /v1/health/drain {\"off\":1}",
	} {
		method, rest, _ := strings.Cut(request, " ")
		path, body, _ := strings.Cut(rest, " ")
		answer := d.talk(t, method+" "+path+" HTTP/1.1\r\nHost: x\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\nConnection: close\r\n\r\n"+body)
		if !strings.HasPrefix(answer, "HTTP/1.1 400 ") {
			t.Errorf("%s: %s", request, answer)
		}
	}
	if len(f.filters) != 1 {
		t.Errorf("%d lists were asked for", len(f.filters))
	}
}
