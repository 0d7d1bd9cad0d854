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
	"ulnet/cmd/internal/connstore"
	. "ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/health"
	"ulnet/lnet/nid"
)

// fakeHealth answers with what there is, and notes what it is asked.
type fakeHealth struct {
	filters    []node.HealthFilter
	everywhere []node.HealthEverywhereFilter
	past       []node.HealthPastFilter
	evictions  []node.HealthEvictionOf
	said       []string
	err        error
}

var (
	draining     = true
	healthStatus = node.HealthStatus{
		Timing: node.HealthTiming{PingMS: 5000, QuorumMS: -1},
		Server: &node.HealthServer{
			State: node.HealthRunning, Alive: 2, Known: 3, ServerStatus: health.ServerStatus{Self: target.NID, Quorum: true, Clients: 7},
			Store: &node.HealthStore{Path: "/health.db", Stats: connstore.Stats{Records: 7, Slowest: time.Millisecond, SetAside: "/old"}},
			Stats: map[string]uint64{"rejected_busy": 3},
		},
		Client: &node.HealthClient{
			Name: "compute-1", Servers: []nid.NID{target.NID}, Stats: map[string]uint64{},
			ClientStatus: health.ClientStatus{Client: health.ClientIDOf("x"), State: "settled", Master: target.NID, Attached: []nid.NID{target.NID}},
		},
	}
	healthClient    = health.ClientInfo{Client: health.ClientIDOf("x"), Name: "a/b c?", Peer: target, State: "orphaned", Master: target.NID, Since: time.Second}
	healthTombstone = health.TombstoneInfo{Client: health.ClientIDOf("x"), Incarnation: 7, Name: "a", Peer: target, Age: time.Second, Server: target.NID, Withdrawn: true}
	healthServers   = []node.HealthPeer{{NID: target.NID, Self: true, Alive: true, Lifetimes: 2, Clients: 3, Draining: &draining}, {NID: nid.MustParse("fd88::1@tcp")}}
)

func (f *fakeHealth) HealthStatus() (node.HealthStatus, error) { return healthStatus, f.err }

func (f *fakeHealth) HealthClients(filter node.HealthFilter) (node.HealthClients, error) {
	f.filters = append(f.filters, filter)
	return node.HealthClients{Matching: 2, More: true, Clients: []health.ClientInfo{healthClient}}, f.err
}

func (f *fakeHealth) HealthClient(name string) (health.ClientInfo, error) {
	f.said = append(f.said, name)
	return healthClient, f.err
}

func (f *fakeHealth) HealthHistory(filter node.HealthPastFilter) (node.HealthPast, error) {
	f.past = append(f.past, filter)
	return node.HealthPast{Matching: 1, Evictions: []health.Past{{Event: health.Event{Client: health.ClientIDOf("x"), Name: "a"}}}}, f.err
}

func (f *fakeHealth) HealthTombstones(filter node.HealthTombstoneFilter) (node.HealthTombstones, error) {
	f.past = append(f.past, node.HealthPastFilter(filter))
	return node.HealthTombstones{Matching: 3, More: true, Tombstones: []health.TombstoneInfo{healthTombstone}}, f.err
}

func (f *fakeHealth) HealthEverywhere(_ context.Context, filter node.HealthEverywhereFilter) (node.HealthEverywhere, error) {
	f.everywhere = append(f.everywhere, filter)
	return node.HealthEverywhere{Differ: 1, Unreached: []node.Unreached{{NID: target.NID, Error: "dead"}}}, f.err
}

func (f *fakeHealth) HealthServers() ([]node.HealthPeer, error) { return healthServers, f.err }

func (f *fakeHealth) HealthEvict(_ context.Context, r node.HealthEvict) (node.HealthEvicted, error) {
	return node.HealthEvicted{Client: r.Client, Result: health.OtherMaster, Master: target.NID}, f.err
}

func (f *fakeHealth) HealthEviction(of node.HealthEvictionOf) (node.HealthEviction, error) {
	f.evictions = append(f.evictions, of)
	return node.HealthEviction{State: node.EvictionUnderWay, Missing: []nid.NID{target.NID}}, f.err
}

func (f *fakeHealth) HealthDrain(r node.HealthDrain) error {
	f.said = append(f.said, map[bool]string{true: "drain", false: "undrain"}[r.On])
	return f.err
}

func (f *fakeHealth) routes() []Route {
	return []Route{
		node.OpHealthStatus.Do(Ask(f.HealthStatus)), node.OpHealthClients.Do(Quick(f.HealthClients)),
		node.OpHealthClient.Do(Quick(func(r node.HealthClientName) (health.ClientInfo, error) { return f.HealthClient(r.Client) })),
		node.OpHealthServers.Do(Ask(f.HealthServers)), node.OpHealthEverywhere.Do(f.HealthEverywhere),
		node.OpHealthHistory.Do(Quick(f.HealthHistory)), node.OpHealthTombstones.Do(Quick(f.HealthTombstones)),
		node.OpHealthEvict.Do(f.HealthEvict), node.OpHealthEviction.Do(Quick(f.HealthEviction)), node.OpHealthDrain.Do(Act(f.HealthDrain)),
	}
}

// TestHealth: what is asked arrives, and what is answered comes back, whatever
// stands in a name.
func TestHealth(t *testing.T) {
	f := &fakeHealth{}
	c := NewClient(serve(t, Config{Routes: f.routes()}).path)
	tells(t, "status", healthStatus, c, node.OpHealthStatus)
	tells(t, "servers", healthServers, c, node.OpHealthServers)
	filters := []node.HealthFilter{{}, {Master: nid.MustParse("fd88::1@tcp"), NID: target.NID, State: "orphaned", Limit: 7}}
	for _, filter := range filters {
		list, err := node.OpHealthClients.Call(t.Context(), c, filter)
		if err != nil || list.Matching != 2 || !list.More || len(list.Clients) != 1 || list.Clients[0] != healthClient {
			t.Errorf("%+v, %v", list, err)
		}
	}
	if diff := cmp.Diff(filters, f.filters, byValue); diff != "" {
		t.Errorf("filters (-want +got):\n%s", diff)
	}
	for _, name := range []string{"a/b c?", "..", "50%&client=x", ""} {
		if info, err := node.OpHealthClient.Call(t.Context(), c, node.HealthClientName{Client: name}); err != nil || info != healthClient {
			t.Errorf("%+v, %v", info, err)
		}
	}
	evicted, err := node.OpHealthEvict.Call(t.Context(), c, node.HealthEvict{Client: healthClient.Client})
	if want := (node.HealthEvicted{Client: healthClient.Client, Result: health.OtherMaster, Master: target.NID}); err != nil || evicted != want {
		t.Errorf("%+v, %v", evicted, err)
	}
	wide := node.HealthEverywhereFilter{Limit: 7, Differ: true}
	if list, err := node.OpHealthEverywhere.Call(t.Context(), c, wide); err != nil || list.Differ != 1 || len(list.Unreached) != 1 || f.everywhere[0] != wide {
		t.Errorf("%+v, %v of %+v", list, err, f.everywhere)
	}
	of := node.HealthEvictionOf{Client: healthClient.Client, Incarnation: 1<<63 + 7}
	if e, err := node.OpHealthEviction.Call(t.Context(), c, of); err != nil || e.State != node.EvictionUnderWay || len(e.Missing) != 1 || f.evictions[0] != of {
		t.Errorf("%+v, %v of %+v", e, err, f.evictions)
	}
	if err := errors.Join(node.OpHealthDrain.Call(t.Context(), c, node.HealthDrain{On: true}), node.OpHealthDrain.Call(t.Context(), c, node.HealthDrain{})); err != nil {
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
	_, status := node.OpHealthStatus.Call(t.Context(), c, None{})
	_, clients := node.OpHealthClients.Call(t.Context(), c, node.HealthFilter{})
	_, client := node.OpHealthClient.Call(t.Context(), c, node.HealthClientName{Client: "x"})
	_, servers := node.OpHealthServers.Call(t.Context(), c, None{})
	_, evict := node.OpHealthEvict.Call(t.Context(), c, node.HealthEvict{Client: healthClient.Client})
	for i, err := range []error{status, clients, client, servers, evict, node.OpHealthDrain.Call(t.Context(), c, node.HealthDrain{})} {
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
