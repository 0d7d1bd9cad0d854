package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
	healthmod "ulnet/cmd/internal/modules/health"
	"ulnet/health"
	"ulnet/health/boltstore"
	"ulnet/lnet/nid"
)

// TestHealthStatus: the status of a node that is both server and client is shown in words and as
// JSON.
func TestHealthStatus(t *testing.T) {
	f := serveFake(t)
	if code, _, errs := f.lnetctl(t.Context(), "health", "status"); code != cli.Failed || !strings.Contains(errs, "no role") {
		t.Errorf("%d, %s", code, errs)
	}
	f.status = func(int) (healthmod.Status, error) {
		s := serverWith(9, 4, 1, 3)
		s.Timing = healthmod.Timing{PingMS: 5000, EvictMS: 17500, QuorumMS: -1}
		s.Server.Unsure, s.Server.ClaimKeys, s.Server.Keys = true, 2, 1
		s.Server.Store = &healthmod.StoreStatus{Path: "/var/lib/x", Stats: boltstore.Stats{
			Records: 9, Slowest: 12345678, Error: "no space left", SetAside: "/var/lib/x.damaged", Damage: "page 7",
		}}
		s.Client = &healthmod.ClientRole{
			Name: "c", Servers: []nid.NID{serverOne, serverTwo},
			ClientStatus: health.ClientStatus{Client: health.ClientIDOf("c"), Incarnation: 5, State: "settled", Master: serverTwo, Epoch: 3, Attached: []nid.NID{serverTwo}, Heard: 1500e6},
			Stats:        map[string]uint64{"sent": 2},
		}
		return s, nil
	}
	_, out, _ := f.lnetctl(t.Context(), "health", "status", "-v")
	want := fmt.Sprintf(`server:
    nid: 10.0.0.1@tcp
    state: running
    quorum: yes, 3 of 5 servers alive; not sure
    draining: False
    clients: 9 of 200000 at most; master of 4; orphaned 0, recovering 0, evicting 0
    evictions: 1 broadcasts on their way, 0 connects wait
    tombstones: 0
    claims: "on, keys: 2"
    connects: "signed only, keys: 1"
    records: "9 in /var/lib/x, slowest commit 12.35ms; the last could not be saved: no space left; a damaged file was set aside as /var/lib/x.damaged: page 7"
    stats:
        pings: 7
client:
    client: %v
    name: c
    life: 5
    state: settled
    master: 10.0.0.2@tcp, epoch 3, heard 1.5s ago
    attached: 10.0.0.2@tcp
    stats:
        sent: 2
times:
    ping: 5s
    client: 0s
    elect: 0s
    evict: 17.5s
    orphan: 0s
    quorum: at once
    broadcast: 0s
    rtt: 0s
    tick: 0s
    try: 0s
`, health.ClientIDOf("c"))
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, out, _ = f.lnetctl(t.Context(), "health", "status", "--json")
	var s healthmod.Status
	if err := json.Unmarshal([]byte(out), &s); err != nil || s.Server.Mastered != 4 || len(s.Server.Stats) != 2 || s.Client.Epoch != 3 {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestNoQuorumShown: at a server without a quorum, the status and the line of a watch say why
// there is none and what to do.
func TestNoQuorumShown(t *testing.T) {
	s := serverWith(0, 0, 0, 1)
	s.Server.Quorum, s.Server.NoQuorum = false, &healthmod.NoQuorum{Why: healthmod.LackListening, Text: "gossip still listens"}
	const want = "no, 1 of 5 servers alive; gossip still listens"
	if doc := newServerDoc(s.Server); doc.Quorum != want {
		t.Errorf("%q", doc.Quorum)
	}
	if line := serverLine(s.Server); !strings.Contains(line, "quorum "+want+"; 0 clients") {
		t.Errorf("%q", line)
	}
}

// shared is a buffer that a command writes while a test reads it.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer // the output so far; guarded by mu
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestHealthWatch: the watch prints events of both roles, each as a line or as an object. It
// leaves out other events, and an interrupt is its normal end.
func TestHealthWatch(t *testing.T) {
	f := serveFake(t)
	f.status = func(int) (healthmod.Status, error) { return serverWith(9, 4, 0, 5), nil }
	for _, asJSON := range []bool{false, true} {
		var out shared
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		code := make(chan int)
		args := []string{"--socket", f.socket, "health", "watch"}
		if asJSON {
			args = append(args, "--json")
		}
		go func() {
			code <- run(ctx, cli.Env{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}, args)
		}()
		last := healthmod.Event{Role: "client", Event: "master-lost", Server: "10.0.0.2@tcp", Code: "orphaned"}
		deadline, tick := time.After(60*time.Second), time.NewTicker(5*time.Millisecond)
		defer tick.Stop()
		for !strings.Contains(out.String(), "master-lost") {
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("nothing but\n%s", &out)
			}
			_, _ = f.events.Write([]byte(`{"msg":"of others","role":"server","event":"odd"}` + "\n" + "{\"msg\n"))
			f.tell(t, healthmod.Event{Role: "server", Event: "evicted", Client: "ab", Name: "n", Cause: "timed-out", Master: "10.0.0.1@tcp", Epoch: 2})
			f.tell(t, last)
		}
		interrupt()
		if got := <-code; got != cli.OK {
			t.Errorf("%d\n%s", got, &out)
		}
		wanted := []string{"server 10.0.0.1@tcp: quorum yes, 5 of 5", `  server  evicted       ab "n": timed-out, master 10.0.0.1@tcp, epoch 2`, "  client  master-lost   10.0.0.2@tcp: orphaned"}
		if asJSON {
			wanted = []string{`"event":"evicted"`, `"cause":"timed-out"`}
		}
		for _, w := range wanted {
			if !strings.Contains(out.String(), w) {
				t.Errorf("no %q in\n%s", w, &out)
			}
		}
		if strings.Contains(out.String(), "odd") {
			t.Errorf("events of others:\n%s", &out)
		}
	}
}

// TestHealthWatchEnds: when the daemon ends, the watch ends with an error.
func TestHealthWatchEnds(t *testing.T) {
	w := &eventWatcher{}
	w.read(strings.NewReader(`{"missed":3}` + "\n" + `{"msg":"client health","event":"connected","client":"ab","missed":2}` + "\n"))
	events, err := w.take()
	if len(events) != 2 || err == nil || err.Error() != "the daemon has gone away" {
		t.Fatalf("%+v, %v", events, err)
	}
	if got := eventLine(&events[0]); !strings.HasSuffix(got, "3 lines of lnetd were left out") || events[0].Time.IsZero() {
		t.Errorf("%s", got)
	}
	if got := eventLine(&events[1]); !strings.HasSuffix(got, "connected     ab (2 events before were left out)") {
		t.Errorf("%s", got)
	}
}

// TestHealthWatchFull: if the queue is full, events are counted, and the output reports the
// number where they are missing. The number at the end includes those that the daemon itself has
// dropped before.
func TestHealthWatchFull(t *testing.T) {
	w := &eventWatcher{}
	for range maxEvents {
		w.add(healthmod.Event{Msg: healthmod.EventMessage})
	}
	w.add(healthmod.Event{Msg: healthmod.EventMessage, Missed: 4})
	w.add(healthmod.Event{Msg: healthmod.EventMessage})
	events, _ := w.take()
	if n := len(events); n != maxEvents+1 || events[0].Missed != 0 || events[n-1].Missed != 6 || events[n-1].Msg != "" {
		t.Errorf("%d events, %+v ... %+v", n, events[0], events[n-1])
	}
	if again, _ := w.take(); len(again) != 0 {
		t.Errorf("again %+v", again)
	}
}

// TestLatest: a small terminal shows only the latest events that fit, or none if nothing fits.
func TestLatest(t *testing.T) {
	events := []healthmod.Event{{Event: "a"}, {Event: "b"}, {Event: "c"}}
	for _, c := range []struct{ room, rows, want int }{{-1, 0, 3}, {5, 9, 3}, {2, 9, 2}, {0, 9, 0}, {-3, 2, 0}} {
		if got := latest(events, c.room, c.rows); len(got) != c.want || c.want > 0 && got[c.want-1].Event != "c" {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// TestHealthScreen: a terminal shows the servers, and below them the latest events.
func TestHealthScreen(t *testing.T) {
	f := serveFake(t)
	f.status = func(int) (healthmod.Status, error) { return serverWith(9, 4, 0, 5), nil }
	var out strings.Builder
	w := eventWatcher{g: &globals{socket: f.socket}, out: &out}
	events := make([]healthmod.Event, shownEvents+2)
	for i := range events {
		events[i] = healthmod.Event{Msg: healthmod.EventMessage, Role: "server", Event: "connected", Client: fmt.Sprintf("client%02d", i)}
	}
	if err := w.screen(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	for _, want := range []string{"\x1b[2J\x1b[Hserver 10.0.0.1@tcp: quorum yes", "NID           ALIVE", "client02", "client16"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if strings.Contains(got, "client01") {
		t.Errorf("too many events: %q", got)
	}
}

// TestShedShown: the status shows how many clients were asked to choose another server.
func TestShedShown(t *testing.T) {
	for shed, want := range map[uint64]bool{0: false, 3: true} {
		doc := newServerDoc(&healthmod.ServerRole{Stats: map[string]uint64{"shed": shed}})
		if got := strings.HasSuffix(doc.Clients, "; 3 were asked to choose masters that have fewer"); got != want {
			t.Errorf("%d: %q", shed, doc.Clients)
		}
	}
}

// TestSupersededShown: the status of a superseded client says where the later incarnation runs,
// when the client tries again, and what to do.
func TestSupersededShown(t *testing.T) {
	c := &healthmod.ClientRole{ClientStatus: health.ClientStatus{State: "resting"}}
	if doc := newClientRoleDoc(c); doc.Superseded != "" || strings.Contains(clientLine(c), "same client") {
		t.Errorf("%+v", doc)
	}
	c.Superseded = &health.SupersededBy{Server: serverOne, Peer: serverTwo, Incarnation: 9, Again: 5 * time.Minute}
	want := fmt.Sprintf("the same client runs at %v, says %v; tries again in ", serverTwo, serverOne)
	if doc := newClientRoleDoc(c); !strings.HasPrefix(doc.Superseded, want) || !strings.Contains(doc.Superseded, "a client id, of its own") {
		t.Errorf("%q", doc.Superseded)
	}
	if line := clientLine(c); !strings.Contains(line, want) {
		t.Errorf("%q", line)
	}
	c.Superseded.Peer = nid.NID{}
	if doc := newClientRoleDoc(c); !strings.HasPrefix(doc.Superseded, "the same client runs elsewhere, ") {
		t.Errorf("%q", doc.Superseded)
	}
}
