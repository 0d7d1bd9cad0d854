package healthsim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/health"
	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
)

// TestCheckerSees: the checker detects four errors: an eviction without a cause, an incarnation
// that is connected to one server although another has evicted it, an evicted incarnation that
// is accepted again, and a client that has ended but is still connected to a server. An eviction
// is no error if the client was cut off from a server.
func TestCheckerSees(t *testing.T) {
	const client, incarnation = sim.NodeID(3), 7
	start := func() *network { return ran(t, standard(3, 1), 50*time.Second) }
	n := start()
	holds(t, n, true, "no-false-eviction")
	n.clientTold(client, &health.ClientEvent{Kind: health.Evicted, Server: simlnd.NID(0), Incarnation: incarnation})
	holds(t, n, false, "no-false-eviction")

	n = start()
	partFor(t, n, client, n.groundTruth.tolerableCut()-1)
	n.Heal()
	n.serverTold(0, &health.Event{Kind: health.ClientSuspended, Cause: health.TimedOut, Client: clientID(client), Incarnation: incarnation})
	n.clientTold(client, &health.ClientEvent{Kind: health.Evicted, Server: simlnd.NID(0), Incarnation: incarnation})
	holds(t, n, false, "no-false-eviction") // the cut was too short

	n = start()
	partFor(t, n, client, n.groundTruth.tolerableCut())
	n.serverTold(0, &health.Event{Kind: health.ClientSuspended, Cause: health.TimedOut, Client: clientID(client), Incarnation: incarnation})
	n.Heal()
	n.clientTold(client, &health.ClientEvent{Kind: health.Evicted, Server: simlnd.NID(0), Incarnation: incarnation})
	holds(t, n, true, "no-false-eviction")

	n = start()
	n.servers[1] = buried{n.servers[1]}
	holds(t, n, false, "uniform")
	n.groundTruth.touch(0)
	holds(t, n, true, "uniform") // not an error yet, because most servers do not have the tombstone
	if err := n.Run(n.Now() + 2*time.Second); err != nil {
		t.Fatal(err)
	}
	n.servers[2] = buried{n.servers[2]}
	n.serverTold(0, &health.Event{Kind: health.ClientConnected, Client: clientID(client), Incarnation: incarnation})
	holds(t, n, false, "uniform") // now an error, because most servers have the tombstone

	n = start()
	n.Kill(client)
	after, _ := n.endIn(false)
	if err := n.Run(n.Now() + after + time.Second); err != nil {
		t.Fatal(err)
	}
	holds(t, n, true, "uniform")
	n.servers[1] = known{n.servers[1]}
	holds(t, n, false, "uniform")
}

// TestUntoldSeen: a server may not connect an incarnation whose tombstone most servers have. The checker excuses it
//   - for T_bcast after a fault, and three ticks longer if links lose messages;
//   - if the master that evicts the incarnation died, or was stopped, before it had informed all servers, this one
//     included;
//   - if the server came back just before the others evicted the incarnation as an orphan.
func TestUntoldSeen(t *testing.T) {
	const client, incarnation = sim.NodeID(5), 7 // the servers are nodes 0 to 4
	tells := func(n *network, server sim.NodeID, kind health.EventKind, incarnation uint64) {
		n.serverTold(server, &health.Event{Kind: kind, Cause: health.ByAdmin, Client: clientID(client), Incarnation: incarnation})
	}
	orphan := func(back time.Duration, cause health.Cause) func(n *network) { // servers evict the client after the last server has come back
		return func(n *network) {
			n.losses.cut.last[4] = n.Now() - back
			for s := range sim.NodeID(3) {
				n.serverTold(s, &health.Event{Kind: health.ClientEvicted, Cause: cause, Client: clientID(client), Incarnation: incarnation})
			}
		}
	}
	loses := func(n *network) {
		n.SetLink(sim.AllNodes, sim.AllNodes, link.Change{Fields: link.FieldLoss, To: link.Quality{Loss: 0.02}})
	}
	for _, row := range []struct {
		name  string
		then  func(n *network)
		after time.Duration
		holds bool
	}{
		{"a fault just before", func(*network) {}, time.Second, true},
		{"a fault long before", func(*network) {}, 2 * time.Second, false},
		{"links lose messages", loses, 3 * time.Second, true},
		{"links lose messages, for long", loses, 5 * time.Second, false},
		{"the master died", func(n *network) { tells(n, 0, health.ClientSuspended, incarnation); n.Kill(0) }, 20 * time.Second, true},
		{"the master died, and this server had made the eviction", func(n *network) {
			tells(n, 0, health.ClientSuspended, incarnation)
			tells(n, 4, health.ClientEvicted, incarnation)
			n.Kill(0)
		}, 20 * time.Second, false},
		{"the master stands still", func(n *network) { tells(n, 0, health.ClientSuspended, incarnation); n.Pause(0) }, 20 * time.Second, true},
		{"the master goes on", func(n *network) { tells(n, 0, health.ClientSuspended, incarnation); n.Pause(0); n.Resume(0) }, 20 * time.Second, false},
		{"the master lives", func(n *network) { tells(n, 0, health.ClientSuspended, incarnation) }, 20 * time.Second, false},
		{"the master died later", func(n *network) {
			tells(n, 0, health.ClientSuspended, incarnation)
			tells(n, 0, health.ClientEvicted, incarnation)
			n.Kill(0)
		}, 20 * time.Second, false},
		{"an orphan, just after it came back", orphan(20*time.Second, health.LostMaster), 20 * time.Second, true},
		{"an orphan, long after it came back", orphan(40*time.Second, health.LostMaster), 20 * time.Second, false},
		{"an orphan, before it came back", orphan(-time.Second, health.LostMaster), 20 * time.Second, false},
		{"an orphan, and this server had made the eviction", func(n *network) {
			orphan(20*time.Second, health.LostMaster)(n)
			tells(n, 4, health.ClientEvicted, incarnation)
		}, 20 * time.Second, false},
		{"the client is cut off", func(n *network) { n.Cut(sim.Nodes(client), sim.Nodes(1)) }, 2 * time.Second, false},
		{"a server is cut off from another", func(n *network) { n.Cut(sim.Nodes(1), sim.Nodes(2)) }, 2 * time.Second, true},
		{"no orphan", orphan(20*time.Second, health.TimedOut), 20 * time.Second, false},
		{"of an earlier incarnation", func(n *network) { tells(n, 0, health.ClientSuspended, incarnation-1); n.Kill(0) }, 20 * time.Second, false},
	} {
		n := ran(t, standard(5, 1), 50*time.Second)
		n.groundTruth.touch(0)
		row.then(n)
		if err := n.Run(n.Now() + row.after); err != nil {
			t.Fatal(err)
		}
		for s := 1; s < 4; s++ {
			n.servers[s] = buried{n.servers[s]}
		}
		n.serverTold(4, &health.Event{Kind: health.ClientConnected, Client: clientID(client), Incarnation: incarnation})
		if holds := n.ledger.revived == 0; holds != row.holds {
			t.Errorf("%s: excused: %v, want %v", row.name, holds, row.holds)
		}
	}
}

// TestFaultsTogether: when a cut follows another cut or a pause, or a pause follows a cut, the checker adds up the
// lengths of both faults; if the time in between is too short for a ping it adds that, too. The sum excuses an eviction
// if it is long enough. Two short faults with time for pings in between are no excuse, and faults that are two ping
// intervals or more apart are not added up.
func TestFaultsTogether(t *testing.T) {
	const client, incarnation = sim.NodeID(3), 7
	type fault struct {
		pause         bool
		lasts, before time.Duration // the latter from the end of the fault before
	}
	for _, row := range []struct {
		name   string
		faults []fault
		holds  bool
	}{
		{"two blips", []fault{{lasts: 100 * time.Millisecond}, {lasts: 100 * time.Millisecond, before: 9 * time.Second}}, false},
		{"two short pauses", []fault{{pause: true, lasts: 100 * time.Millisecond}, {pause: true, lasts: 100 * time.Millisecond, before: 9 * time.Second}}, false},
		{"a blip and a short pause", []fault{{lasts: 100 * time.Millisecond}, {pause: true, lasts: 100 * time.Millisecond, before: 9 * time.Second}}, false},
		{"a short pause and a blip", []fault{{pause: true, lasts: 100 * time.Millisecond}, {lasts: 100 * time.Millisecond, before: 9 * time.Second}}, false},
		{"two cuts", []fault{{lasts: 4 * time.Second}, {lasts: 4 * time.Second, before: 4 * time.Second}}, true},
		{"two cuts too far apart", []fault{{lasts: 4 * time.Second}, {lasts: 4 * time.Second, before: 10 * time.Second}}, false},
		{"no time for a ping", []fault{{lasts: 3 * time.Second}, {lasts: 3 * time.Second, before: time.Second}}, true},
		{"a cut and a pause", []fault{{lasts: 6 * time.Second}, {pause: true, lasts: 6 * time.Second, before: 4 * time.Second}}, true},
	} {
		n := ran(t, standard(3, 1), 50*time.Second)
		run := func(d time.Duration) {
			if err := n.Run(n.Now() + d); err != nil {
				t.Fatal(err)
			}
		}
		for i, f := range row.faults {
			run(f.before)
			if f.pause {
				n.Pause(client)
				run(f.lasts)
			} else {
				partFor(t, n, client, f.lasts)
			}
			if i == len(row.faults)-1 {
				n.serverTold(0, &health.Event{Kind: health.ClientSuspended, Cause: health.TimedOut, Client: clientID(client), Incarnation: incarnation})
			}
			if f.pause {
				n.Resume(client)
			} else {
				n.Heal()
			}
		}
		n.clientTold(client, &health.ClientEvent{Kind: health.Evicted, Server: simlnd.NID(0), Incarnation: incarnation})
		t.Run(row.name, func(t *testing.T) { holds(t, n, row.holds, "no-false-eviction") })
	}
}

// partFor cuts a node off, and lets the run go on for a time.
func partFor(t *testing.T, n *network, id sim.NodeID, d time.Duration) {
	t.Helper()
	n.Partition(sim.Nodes(id))
	if err := n.Run(n.Now() + d); err != nil {
		t.Fatal(err)
	}
}

// exemptions are all reasons for which the checkers accept something that looks like an error:
// the function that decides, and the file and the sentence of the documentation that allow it.
var exemptions = []struct{ by, file, sentence string }{
	{"tolerable", "scenarios.md", "or stood still for no longer than T_evict less a ping interval and a fifth of one"},
	{"tolerableCut", "scenarios.md", "or was cut off from too many servers for a ping interval less than that"},
	{"reach", "scenarios.md", "exchanges messages with no more than half of all servers, where only those count that run, have a quorum, do not drain and can write to their disks"},
	{"unnamed", "scenarios.md", "a server that it reaches does not exchange messages with one that it does not reach, and that has a quorum"},
	{"unnamed", "client-health.md", "messages between the old master and the new one do not get through"},
	{"cutSince", "scenarios.md", "A cut from fewer servers counts together with another fault only until it has lasted for T_client + T_elect"},
	{"beside", "scenarios.md", "unless another server died, stood still or was restarted less than T_evict after that, or so long before as discovery takes to notice a death and a return"},
	{"beside", "client-health.md", "the new master dies, or counts as dead, before the old one asks"},
	{"begin", "scenarios.md", "where the length of a cut or pause less than two ping intervals before a cut, or of a cut before a pause, is added"},
	{"parted", "scenarios.md", "or the client was cut off from that server or could be evicted"},
	{"unheard", "client-health.md", "a server that evicted an orphan by itself, because the client, and no other server, was cut off from it"},
	{"passedOn", "client-health.md", "Servers that are restarted, or were cut off, learn of it when they ask for tombstones"},
	{"mayWithdraw", "scenarios.md", "ten ticks after it began, and for as long as a server does not answer the master"},
	{"mayWithdraw", "client-health.md", "its evictions wait, those of others go on"},
	{"orNoticed", "scenarios.md", "what discovery takes to notice a death and a return, if it takes longer than T_evict to notice a death"},
	{"cutOff", "gossip.md", "the participant does not run, is silent after its start"},
	{"poor", "scenarios.md", "no link lost more than one message in twenty or held them for longer than a tenth of a ping interval"},
	{"inTrouble", "scenarios.md", "its clock and those of servers were not wrong by more than three in a hundred, and no step of theirs took longer by more than a hundredth of a ping interval"},
	{"justly", "scenarios.md", "that incarnation was not evicted by hand"},
	{"untold", "scenarios.md", "unless links lost more than one message in twenty or servers were cut off from each other at that moment, or something was done to a server or a link less than T_bcast before"},
	{"untold", "client-health.md", "Questions are repeated every tick, five times, and a late answer evicts a client that was accepted"},
	{"cutShort", "client-health.md", "An eviction whose master dies, or stands still, before all live servers have answered may be unknown to some"},
	{"askedBefore", "client-health.md", "So may that of an orphan to a server that comes back, and asks for tombstones, less than T_orphan before the others evict the orphan"},
	{"agreeIn", "client-health.md", "T_q + T_orphan after a partition is healed each client is connected, or evicted everywhere"},
	{"spreadIn", "client-health.md", "an eviction is sent again until every live server has answered"},
	{"evictingIn", "scenarios.md", "A master that waits for the answers of others has ten ticks more"},
	{"endIn", "scenarios.md", "T_evict after its end if its node is silent, 2·T_evict if that talks on or comes back without a client"},
	{"calm", "client-health.md", "a server that discovery holds for alive does not answer broadcasts; its evictions wait"},
	{"uniform", "client-health.md", "As long as no more than half of the servers have such a tombstone the client lives on where it is connected"},
	{"knownIn", "scenarios.md", "for as long as discovery takes to notice a death and a return"},
	{"cutOff", "scenarios.md", "paths have led to it from most servers"},
	{"linked", "scenarios.md", "only paths between servers of which each exchanges messages in both directions with at least half of those that it has any path to or from"},
	{"linked", "gossip.md", "one of the two exchanges messages in both directions with fewer than half of the nodes to or from which it has any path"},
	{"cutOff", "scenarios.md", "no link between servers was bad, and no server's clock wrong or slow"},
	{"silent", "scenarios.md", "unless in the last T_orphan and two ticks something was done to that server, or the client was cut off from that server or could be evicted"},
	{"silent", "scenarios.md", "and twice a ping interval before that if their link loses messages"},
	{"rests", "client-health.md", "rests for 5 to 15 min if it is connected somewhere"},
}

// exemptParts are the functions of these files that the functions in exemptions call.
const exemptParts = "away poorPath anyLink loses losesBetween poorBetween judgeLinks ending heldUp minority fewReach divided unanswered takes reaches left cutFrom"

// TestExemptionsDocumented: each exemption of the checker is backed by a sentence of the
// documentation, and the files with exemptions have no function without one.
func TestExemptionsDocumented(t *testing.T) {
	texts, known := make(map[string]string), strings.Fields(exemptParts)
	for _, e := range exemptions {
		if texts[e.file] == "" {
			text, err := os.ReadFile(filepath.Join("..", "..", "docs", e.file))
			if err != nil {
				t.Fatal(err)
			}
			texts[e.file] = strings.Join(strings.Fields(string(text)), " ")
		}
		if !strings.Contains(texts[e.file], e.sentence) {
			t.Errorf("%s does not say %q, as %s needs", e.file, e.sentence, e.by)
		}
		known = append(known, e.by)
	}
	for _, name := range []string{"exempt.go", "exempt_quorum.go", "reach.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && !slices.Contains(known, f.Name.Name) {
				t.Errorf("no sentence of the documentation allows what %s of %s does", f.Name.Name, name)
			}
		}
	}
}

// buried is a server that has a tombstone of every incarnation; known is a server to which
// every client is connected.
type (
	buried struct{ watcher }
	known  struct{ watcher }
)

func (buried) Buried(health.ClientID) (uint64, bool) { return 1 << 63, true }

func (known) Client(id health.ClientID) (health.ClientInfo, bool) {
	return health.ClientInfo{Client: id, State: "connected"}, true
}

// frozen is a server that has been evicting every client since the beginning.
type frozen struct{ watcher }

func (f frozen) Client(id health.ClientID) (health.ClientInfo, bool) {
	info, ok := f.watcher.Client(id)
	info.State = "evicting"
	return info, ok
}

// TestFrozenSeen: an eviction that does not end is an error, whether or not another server has a
// tombstone. It is no error if the eviction has just begun, or if a broadcast that could not be sent,
// or a fault of a server, delays it.
func TestFrozenSeen(t *testing.T) {
	const client = sim.NodeID(3)
	for _, row := range []struct {
		name  string
		then  func(n *network)
		holds bool
	}{
		{"without a tombstone", func(*network) {}, false},
		{"with a tombstone", func(n *network) { n.servers[2] = buried{n.servers[2]} }, false},
		{"just begun", func(n *network) {
			c := n.ledger.of(client)
			c.ending, c.ends = 1<<63, n.Now()-n.evictingIn()
		}, true},
		{"not sent", func(n *network) { n.groundTruth.unsent = n.Now() - n.evictingIn() }, true},
		{"a fault", func(n *network) { n.groundTruth.touch(0) }, true},
	} {
		n := ran(t, standard(3, 1), 50*time.Second)
		master := nodeOfNID(n.client(client).Status().Master)
		n.servers[master] = frozen{n.servers[master]}
		row.then(n)
		t.Run(row.name, func(t *testing.T) { holds(t, n, row.holds, "uniform") })
	}
}
