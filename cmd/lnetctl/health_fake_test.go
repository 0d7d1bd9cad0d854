package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	healthmod "ulnet/cmd/internal/modules/health"
	"ulnet/health"
	"ulnet/lnet/nid"
)

var (
	serverOne = nid.MustParse("10.0.0.1@tcp")
	serverTwo = nid.MustParse("10.0.0.2@tcp")
)

// fakeServer is a daemon whose answers about client health the test determines.
type fakeServer struct {
	events control.Events
	socket string

	mu            sync.Mutex
	status        func(look int) (healthmod.Status, error) // returns the status for the nth request, where n is look; guarded by mu
	looks         int                                      // number of requests for the status so far; guarded by mu
	clients       []health.ClientInfo
	evicted       healthmod.EvictReply
	everywhere    healthmod.EverywhereList
	asked         []healthmod.EverywhereFilter
	evictOf       map[health.ClientID]healthmod.EvictReply
	tombstones    []health.TombstoneInfo
	eviction      func(of healthmod.EvictionQuery, look int) (healthmod.EvictionStatus, error)
	evictionLooks int // number of requests for the eviction so far; guarded by mu
	past          []healthmod.PastFilter
	drained       []bool // requests to begin or end draining, in order; guarded by mu
	draining      bool   // the server is draining; guarded by mu
}

// serveFake starts a daemon that ends with the test.
func serveFake(t *testing.T) *fakeServer {
	t.Helper()
	f := new(fakeServer)
	f.socket = serveNode(t, f.routes(), &f.events)
	return f
}

func (f *fakeServer) routes() []control.Route {
	return []control.Route{
		healthmod.OpStatus.Do(control.Ask(f.Status)), healthmod.OpClients.Do(control.Quick(f.ClientList)),
		healthmod.OpClient.Do(control.Quick(func(r healthmod.ClientName) (health.ClientInfo, error) { return f.ClientRole(r.Client) })),
		healthmod.OpServers.Do(control.Ask(f.HealthServers)), healthmod.OpEverywhere.Do(f.EverywhereList),
		healthmod.OpTombstones.Do(control.Quick(f.TombstoneList)),
		healthmod.OpEvict.Do(f.EvictRequest), healthmod.OpEviction.Do(control.Quick(f.EvictionStatus)), healthmod.OpDrain.Do(control.Act(f.DrainRequest)),
	}
}

func (f *fakeServer) Status() (healthmod.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	if f.status == nil {
		return healthmod.Status{}, errors.Join(syscall.ESRCH, errors.New("no role"))
	}
	s, err := f.status(f.looks)
	if s.Server != nil {
		s.Server.Draining = f.draining
	}
	return s, err
}

func (f *fakeServer) ClientList(filter healthmod.ClientFilter) (healthmod.ClientList, error) {
	list := healthmod.ClientList{Matching: len(f.clients)}
	for _, c := range f.clients {
		if len(list.Clients) < filter.Limit && (filter.State == "" || filter.State == c.State) && (!filter.NID.IsValid() || filter.NID == c.Peer.NID) && (!filter.Master.IsValid() || filter.Master == c.Master) {
			list.Clients = append(list.Clients, c)
		}
	}
	list.More = len(list.Clients) < list.Matching
	return list, nil
}

func (f *fakeServer) ClientRole(idOrName string) (health.ClientInfo, error) {
	for _, c := range f.clients {
		if c.Name == idOrName || c.Client.String() == idOrName {
			return c, nil
		}
	}
	return health.ClientInfo{}, cli.Hint(syscall.ENOENT, "look elsewhere")
}

func (f *fakeServer) TombstoneList(filter healthmod.TombstoneFilter) (healthmod.TombstoneList, error) {
	f.past = append(f.past, filter)
	return healthmod.TombstoneList{Matching: len(f.tombstones) + 5, More: true, Tombstones: f.tombstones}, nil
}

func (f *fakeServer) EverywhereList(_ context.Context, filter healthmod.EverywhereFilter) (healthmod.EverywhereList, error) {
	f.asked = append(f.asked, filter)
	return f.everywhere, nil
}

func (f *fakeServer) HealthServers() ([]healthmod.Peer, error) {
	no := false
	return []healthmod.Peer{
		{NID: serverOne, Self: true, Alive: true, Clients: 2, Draining: &no},
		{NID: serverTwo, Lifetimes: 3},
	}, nil
}

func (f *fakeServer) EvictRequest(_ context.Context, r healthmod.EvictRequest) (healthmod.EvictReply, error) {
	if e, ok := f.evictOf[r.Client]; ok {
		return e, nil
	}
	f.evicted.Client = r.Client
	return f.evicted, nil
}

func (f *fakeServer) EvictionStatus(of healthmod.EvictionQuery) (healthmod.EvictionStatus, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.evictionLooks++
	return f.eviction(of, f.evictionLooks)
}

func (f *fakeServer) DrainRequest(d healthmod.DrainRequest) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drained, f.draining = append(f.drained, d.On), d.On
	return nil
}

// tell sends an event to all listeners.
func (f *fakeServer) tell(t *testing.T, e healthmod.Event) {
	t.Helper()
	e.Msg = healthmod.EventMessage
	line, err := json.Marshal(e)
	if err == nil {
		_, err = f.events.Write(append(line, '\n'))
	}
	if err != nil {
		t.Error(err)
	}
}

// serverWith returns the status of a server with the given number of clients; the parameter mastered says of
// how many it is the master.
func serverWith(clients, mastered, batches, alive int) healthmod.Status {
	return healthmod.Status{Server: &healthmod.ServerRole{
		State: healthmod.Running, Gossip: true, Alive: alive, Known: 5, MaxClients: 200_000,
		ServerStatus: health.ServerStatus{Self: serverOne, Quorum: true, Clients: clients, Mastered: mastered, Batches: batches},
		Stats:        map[string]uint64{"pings": 7, "late": 0},
	}}
}

// lnetctl runs a command against the fake daemon.
func (f *fakeServer) lnetctl(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	env := cli.Env{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	code = run(ctx, env, append([]string{"--socket", f.socket}, args...))
	return code, out.String(), errs.String()
}

// fakeClients returns two clients: one whose master is this server, and an orphan.
func fakeClients() []health.ClientInfo {
	peer := func(s string) nid.ProcessID { return nid.ProcessID{NID: nid.MustParse(s), PID: nid.LustrePID} }
	return []health.ClientInfo{
		{
			Client: health.ClientIDOf("a"), Incarnation: 7, Name: "compute-1", Peer: peer("10.0.0.11@tcp"), State: "connected",
			Master: serverOne, Epoch: 2, Since: 1234 * time.Millisecond,
		},
		{
			Client: health.ClientIDOf("b"), Incarnation: 9, Peer: peer("10.0.0.12@tcp"), State: "orphaned",
			Master: serverTwo, Epoch: 1, Since: 61400 * time.Millisecond,
		},
	}
}
