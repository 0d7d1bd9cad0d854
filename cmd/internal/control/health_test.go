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

// fakeHealth has a fixed answer for each operation. All fields except err have the contents of the requests so far.
type fakeHealth struct {
	filters    []healthmod.ClientFilter
	everywhere []healthmod.EverywhereFilter
	past       []healthmod.PastFilter
	evictions  []healthmod.EvictionQuery
	said       []string
	err        error
}

var (
	draining     = true
	healthStatus = healthmod.Status{
		Timing: healthmod.Timing{PingMS: 5000, QuorumMS: -1},
		Server: &healthmod.ServerRole{
			State: healthmod.Running, Alive: 2, Known: 3, ServerStatus: health.ServerStatus{Self: target.NID, Quorum: true, Clients: 7},
			Store: &healthmod.StoreStatus{Path: "/health.db", Stats: boltstore.Stats{Records: 7, Slowest: time.Millisecond, SetAside: "/old"}},
			Stats: map[string]uint64{"rejected_busy": 3},
		},
		Client: &healthmod.ClientRole{
			Name: "compute-1", Servers: []nid.NID{target.NID}, Stats: map[string]uint64{},
			ClientStatus: health.ClientStatus{Client: health.ClientIDOf("x"), State: "settled", Master: target.NID, Attached: []nid.NID{target.NID}},
		},
	}
	healthClient    = health.ClientInfo{Client: health.ClientIDOf("x"), Name: "a/b c?", Peer: target, State: "orphaned", Master: target.NID, Since: time.Second}
	healthTombstone = health.TombstoneInfo{Client: health.ClientIDOf("x"), Incarnation: 7, Name: "a", Peer: target, Age: time.Second, Server: target.NID, Withdrawn: true}
	healthServers   = []healthmod.Peer{{NID: target.NID, Self: true, Alive: true, Lifetimes: 2, Clients: 3, Draining: &draining}, {NID: nid.MustParse("fd88::1@tcp")}}
)

func (f *fakeHealth) Status() (healthmod.Status, error) { return healthStatus, f.err }

func (f *fakeHealth) ClientList(filter healthmod.ClientFilter) (healthmod.ClientList, error) {
	f.filters = append(f.filters, filter)
	return healthmod.ClientList{Matching: 2, More: true, Clients: []health.ClientInfo{healthClient}}, f.err
}

func (f *fakeHealth) ClientRole(name string) (health.ClientInfo, error) {
	f.said = append(f.said, name)
	return healthClient, f.err
}

func (f *fakeHealth) HealthHistory(filter healthmod.PastFilter) (healthmod.PastList, error) {
	f.past = append(f.past, filter)
	return healthmod.PastList{Matching: 1, Evictions: []health.Past{{Event: health.Event{Client: health.ClientIDOf("x"), Name: "a"}}}}, f.err
}

func (f *fakeHealth) TombstoneList(filter healthmod.TombstoneFilter) (healthmod.TombstoneList, error) {
	f.past = append(f.past, filter)
	return healthmod.TombstoneList{Matching: 3, More: true, Tombstones: []health.TombstoneInfo{healthTombstone}}, f.err
}

func (f *fakeHealth) EverywhereList(_ context.Context, filter healthmod.EverywhereFilter) (healthmod.EverywhereList, error) {
	f.everywhere = append(f.everywhere, filter)
	return healthmod.EverywhereList{Differ: 1, Unreached: []scoll.Unreached{{NID: target.NID, Error: "dead"}}}, f.err
}

func (f *fakeHealth) HealthServers() ([]healthmod.Peer, error) { return healthServers, f.err }

func (f *fakeHealth) EvictRequest(_ context.Context, r healthmod.EvictRequest) (healthmod.EvictReply, error) {
	return healthmod.EvictReply{Client: r.Client, Result: health.OtherMaster, Master: target.NID}, f.err
}

func (f *fakeHealth) EvictionStatus(of healthmod.EvictionQuery) (healthmod.EvictionStatus, error) {
	f.evictions = append(f.evictions, of)
	return healthmod.EvictionStatus{State: healthmod.EvictionUnderWay, Missing: []nid.NID{target.NID}}, f.err
}

func (f *fakeHealth) DrainRequest(r healthmod.DrainRequest) error {
	f.said = append(f.said, map[bool]string{true: "drain", false: "undrain"}[r.On])
	return f.err
}

func (f *fakeHealth) routes() []Route {
	return []Route{
		healthmod.OpStatus.Do(Ask(f.Status)), healthmod.OpClients.Do(Quick(f.ClientList)),
		healthmod.OpClient.Do(Quick(func(r healthmod.ClientName) (health.ClientInfo, error) { return f.ClientRole(r.Client) })),
		healthmod.OpServers.Do(Ask(f.HealthServers)), healthmod.OpEverywhere.Do(f.EverywhereList),
		healthmod.OpHistory.Do(Quick(f.HealthHistory)), healthmod.OpTombstones.Do(Quick(f.TombstoneList)),
		healthmod.OpEvict.Do(f.EvictRequest), healthmod.OpEviction.Do(Quick(f.EvictionStatus)), healthmod.OpDrain.Do(Act(f.DrainRequest)),
	}
}

// TestHealth: questions and answers arrive unchanged, whatever characters a name has.
func TestHealth(t *testing.T) {
	f := &fakeHealth{}
	c := NewClient(serve(t, Config{Routes: f.routes()}).path)
	tells(t, "status", healthStatus, c, healthmod.OpStatus)
	tells(t, "servers", healthServers, c, healthmod.OpServers)
	filters := []healthmod.ClientFilter{{}, {Master: nid.MustParse("fd88::1@tcp"), NID: target.NID, State: "orphaned", Limit: 7}}
	for _, filter := range filters {
		list, err := healthmod.OpClients.Call(t.Context(), c, filter)
		if err != nil || list.Matching != 2 || !list.More || len(list.Clients) != 1 || list.Clients[0] != healthClient {
			t.Errorf("%+v, %v", list, err)
		}
	}
	if diff := cmp.Diff(filters, f.filters, byValue); diff != "" {
		t.Errorf("filters (-want +got):\n%s", diff)
	}
	for _, name := range []string{"a/b c?", "..", "50%&client=x", ""} {
		if info, err := healthmod.OpClient.Call(t.Context(), c, healthmod.ClientName{Client: name}); err != nil || info != healthClient {
			t.Errorf("%+v, %v", info, err)
		}
	}
	evicted, err := healthmod.OpEvict.Call(t.Context(), c, healthmod.EvictRequest{Client: healthClient.Client})
	if want := (healthmod.EvictReply{Client: healthClient.Client, Result: health.OtherMaster, Master: target.NID}); err != nil || evicted != want {
		t.Errorf("%+v, %v", evicted, err)
	}
	wide := healthmod.EverywhereFilter{Limit: 7, Differ: true}
	if list, err := healthmod.OpEverywhere.Call(t.Context(), c, wide); err != nil || list.Differ != 1 || len(list.Unreached) != 1 || f.everywhere[0] != wide {
		t.Errorf("%+v, %v of %+v", list, err, f.everywhere)
	}
	of := healthmod.EvictionQuery{Client: healthClient.Client, Incarnation: 1<<63 + 7}
	if e, err := healthmod.OpEviction.Call(t.Context(), c, of); err != nil || e.State != healthmod.EvictionUnderWay || len(e.Missing) != 1 || f.evictions[0] != of {
		t.Errorf("%+v, %v of %+v", e, err, f.evictions)
	}
	if err := errors.Join(healthmod.OpDrain.Call(t.Context(), c, healthmod.DrainRequest{On: true}), healthmod.OpDrain.Call(t.Context(), c, healthmod.DrainRequest{})); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"a/b c?", "..", "50%&client=x", "", "drain", "undrain"}, f.said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHealthErrors: errors arrive with their number and their hint. A malformed request is
// refused before the node gets it.
func TestHealthErrors(t *testing.T) {
	f := &fakeHealth{err: cli.Hint(syscall.ESRCH, "enable it")}
	d := serve(t, Config{Routes: f.routes()})
	c := NewClient(d.path)
	_, status := healthmod.OpStatus.Call(t.Context(), c, None{})
	_, clients := healthmod.OpClients.Call(t.Context(), c, healthmod.ClientFilter{})
	_, client := healthmod.OpClient.Call(t.Context(), c, healthmod.ClientName{Client: "x"})
	_, servers := healthmod.OpServers.Call(t.Context(), c, None{})
	_, evict := healthmod.OpEvict.Call(t.Context(), c, healthmod.EvictRequest{Client: healthClient.Client})
	for i, err := range []error{status, clients, client, servers, evict, healthmod.OpDrain.Call(t.Context(), c, healthmod.DrainRequest{})} {
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
