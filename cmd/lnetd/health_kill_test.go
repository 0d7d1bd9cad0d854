//go:build linux

package main_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	healthmod "ulnet/cmd/internal/modules/health"
	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/health"
	healthwire "ulnet/health/wire"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/socklnd"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/portals"
	portalsnode "ulnet/portals/node"
)

const (
	killedServer = "127.0.0.171"
	killedClient = "127.0.0.172"
	livingServer = "127.0.0.173"
	// intakeEach is the number of clients that connect in a round, and intakeWindow the number of
	// those that may wait for an answer at the same time.
	intakeEach   = 45
	intakeWindow = 8
)

// intake is a server with records that is killed again and again while clients connect to it.
// The clients are on one node, and each has a new id.
type intake struct {
	t        *testing.T
	commands lnetdtest.Commands
	port     uint16
	state    string
	random   *rand.Rand
	clients  uint64 // number of client ids used so far

	mu       sync.Mutex
	accepted map[health.ClientID]bool // clients that were accepted; guarded by mu
}

func newIntake(t *testing.T) *intake {
	t.Helper()
	k := &intake{
		t: t, commands: lnetdtest.Build(t), state: t.TempDir(), accepted: map[health.ClientID]bool{}, random: rand.New(rand.NewPCG(9, 9)),
	}
	var err error
	if k.port, err = loopback.FreePort(netip.MustParseAddr(killedServer), netip.MustParseAddr(killedClient), netip.MustParseAddr(livingServer)); err != nil {
		t.Fatal(err)
	}
	k.startAt(livingServer, t.TempDir(), false) // the second server is needed for the quorum
	return k
}

// start starts the server that the test kills.
func (k *intake) start(early bool) *lnetdtest.Daemon {
	k.t.Helper()
	return k.startAt(killedServer, k.state, early)
}

// startAt starts a server. The server keeps recovered clients for minutes even if they are
// silent.
func (k *intake) startAt(addr, state string, early bool) *lnetdtest.Daemon {
	k.t.Helper()
	return k.commands.Start(k.t, lnetdtest.Config{
		Networks: "tcp(" + addr + ")", Port: k.port, StateDir: state, Early: early,
		Settings: []string{
			"min_reconnectms: 20", "max_reconnectms: 100",
			"scoll:", "  enable: 1", "gossip:", "  nids: ['127.0.0.171@tcp', '127.0.0.173@tcp']", "  cold_start: 1", "  interval: 200ms",
			"health:", "  server: 1", "  ids_per_nid: 10000", "  times:", "    ping: 60s",
		},
	})
}

// connect connects intakeEach new clients, or as many as are accepted before stop is closed. It returns
// when stop is closed.
func (k *intake) connect(stop <-chan struct{}) {
	answers := make(chan struct{}, intakeWindow)
	n, err := portalsnode.Start(portalsnode.Config{
		Networks: "tcp(" + killedClient + ")", AcceptPort: k.port, DialOnly: true, Discovery: discovery.Config{Off: true},
		TCP: socklnd.Config{MinReconnect: 10 * time.Millisecond, MaxReconnect: 20 * time.Millisecond},
	})
	if err != nil {
		k.t.Error(err)
		return
	}
	var inbox portals.Inbox
	err = inbox.Open(n.Table(), portals.InboxConfig{Portal: healthwire.ClientPortal, Size: healthwire.MaxMessage, Handle: func(_ *portals.Event, data []byte) {
		m, err := healthwire.ParseMessage(data)
		if err != nil || m.Kind != healthwire.Accept {
			return // the server has not accepted the client: flood sends the connect again at its next tick
		}
		k.mu.Lock()
		again := k.accepted[m.Client]
		k.accepted[m.Client] = true
		k.mu.Unlock()
		if !again {
			select {
			case answers <- struct{}{}:
			default:
			}
		}
	}})
	if err != nil {
		k.t.Error(err)
	}
	k.flood(n.Table(), answers, stop)
	inbox.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = n.Close(ctx) // an error means that the server is dead or no longer reads
}

// flood sends connects, and repeats each until it is answered.
func (k *intake) flood(table *portals.Table, answers, stop <-chan struct{}) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	first := k.clients
	k.clients += intakeEach
	for {
		k.mu.Lock()
		var ask []health.ClientID
		for i := first; i < k.clients && len(ask) < intakeWindow; i++ {
			if id := intakeID(i); !k.accepted[id] {
				ask = append(ask, id)
			}
		}
		k.mu.Unlock()
		if len(ask) == 0 {
			<-stop
			return
		}
		for _, id := range ask {
			k.ask(table, id)
		}
		for range ask {
			select {
			case <-answers:
				continue
			case <-tick.C:
			case <-stop:
				return
			}
			break
		}
	}
}

func intakeID(i uint64) (id health.ClientID) {
	binary.BigEndian.PutUint64(id[:], i+1)
	return id
}

// ask sends a connect request of a client.
func (k *intake) ask(table *portals.Table, id health.ClientID) {
	server := nid.MustParse(killedServer + "@tcp")
	m := healthwire.Message{Kind: healthwire.Connect, Client: id, Incarnation: 1, Sequence: 1, Epoch: 1, Server: server, Name: []byte("client")}
	md, err := table.MDBind(portals.MD{Segments: []portals.Segment{m.AppendTo(nil)}, Threshold: 1, Handler: func(*portals.Event) {}}, portals.Unlink)
	if err != nil {
		k.t.Error(err)
		return
	}
	if table.Put(portals.PutRequest{MD: md, Target: nid.ProcessID{NID: server, PID: nid.LustrePID}, Portal: healthwire.ServerPortal, MatchBits: healthwire.Bits}) != nil {
		_ = table.MDUnlink(md)
	}
}

// count returns the number of accepted clients.
func (k *intake) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.accepted)
}

// during calls f, and connects clients while f runs.
func (k *intake) during(f func()) {
	stop := make(chan struct{})
	var worker sync.WaitGroup
	worker.Go(func() { k.connect(stop) })
	f()
	close(stop)
	worker.Wait()
}

// check fails unless the restarted server, and the file of its records, have all clients that
// were accepted.
func (k *intake) check(d *lnetdtest.Daemon, round int) {
	k.t.Helper()
	var list healthmod.ClientList
	d.Until(heldWithin, "the role of the server", func() bool {
		var err error
		list, err = healthmod.OpClients.Call(k.t.Context(), d.Control(), healthmod.ClientFilter{Limit: healthmod.MaxLimit})
		return err == nil
	})
	known := map[health.ClientID]bool{}
	for i := range list.Clients {
		known[list.Clients[i].Client] = true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for id := range k.accepted {
		if !known[id] {
			k.t.Errorf("round %d: %v was accepted, and is lost", round, id)
		}
	}
	for _, pattern := range []string{"*.damaged*", "*.aside*"} {
		if names, err := filepath.Glob(filepath.Join(k.state, pattern)); err != nil || len(names) > 0 {
			k.t.Errorf("round %d: set aside: %v, %v", round, names, err)
		}
	}
	if k.t.Failed() {
		k.t.Fatalf("%d of %d are known\n%s", len(known), len(k.accepted), d.Log())
	}
}

// crashedText matches the output of a process that ended by itself, instead of being killed.
var crashedText = regexp.MustCompile(`(?m)^(lnetd:|panic:|fatal error:).*|level=ERROR.*`)

// TestKilledServer: CH-4, CH-65, CH-66: a server is killed while clients connect, or in the
// first second after its start. Each time the server can be restarted, it then has all clients
// that it had accepted, and no file is damaged.
func TestKilledServer(t *testing.T) {
	spec.Covers(t, "CH-4", "CH-65", "CH-66")
	if testing.Short() {
		t.Skip("kills servers; skipped by -short")
	}
	rounds := 4
	if os.Getenv("ULNET_LONG") != "" {
		rounds = 100
	}
	k := newIntake(t)
	for round := range rounds {
		d := k.start(false)
		k.check(d, round)
		had, want := k.count(), 1+k.random.IntN(intakeEach-5)
		k.during(func() {
			d.Until(heldWithin, fmt.Sprintf("%d accepted clients", want), func() bool { return k.count() >= had+want })
			d.Kill()
		})
	}
	connected := k.count()
	for range rounds {
		d := k.start(true)
		k.during(func() {
			<-time.After(time.Duration(k.random.IntN(1000)) * time.Millisecond)
			d.Kill()
		})
		if text := crashedText.FindString(d.Log()); text != "" {
			t.Fatalf("a server ended by itself: %s\n%s", text, d.Log())
		}
	}
	d := k.start(false)
	k.check(d, 2*rounds)
	t.Logf("%d servers killed while clients connected, of which %d were accepted; %d in the first second of their start, with %d more", rounds, connected, rounds, k.count()-connected)
}
