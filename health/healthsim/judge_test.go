package healthsim

import (
	"testing"
	"time"

	"ulnet/health"
	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
)

// suspicion is a run in which server 0 begins to evict an incarnation of a client (it suspends the
// client), and has a cause for that: the client was cut off until this moment, and is reachable from then
// on.
type suspicion struct {
	*network
	t *testing.T
}

const (
	suspected            = sim.NodeID(3)
	suspectedIncarnation = 7
)

func newSuspicion(t *testing.T) suspicion {
	s := suspicion{ran(t, standard(3, 1), 50*time.Second), t}
	partFor(t, s.network, suspected, s.groundTruth.tolerableCut())
	s.servers[0] = evicting{s.servers[0]}
	s.tells(0, health.ClientSuspended, health.TimedOut)
	s.Heal()
	return s
}

// evicting is a server that evicts the suspected incarnation.
type evicting struct{ watcher }

func (evicting) Client(id health.ClientID) (health.ClientInfo, bool) {
	return health.ClientInfo{Client: id, State: "evicting", Incarnation: suspectedIncarnation}, true
}

// ends makes server 0 one that does not evict the client any more.
func (s suspicion) ends() { s.servers[0] = s.servers[0].(evicting).watcher }

// tells passes an event of a server about the client to the checker.
func (s suspicion) tells(server sim.NodeID, kind health.EventKind, cause health.Cause) {
	s.serverTold(server, &health.Event{Kind: kind, Cause: cause, Client: clientID(suspected), Incarnation: suspectedIncarnation})
}

// later lets the run go on until the cause no longer counts.
func (s suspicion) later() {
	s.t.Helper()
	if err := s.Run(s.Now() + 2*s.timing.Evict); err != nil {
		s.t.Fatal(err)
	}
}

// hears passes to the checker an event by which the client was told that it was evicted.
func (s suspicion) hears() {
	s.clientTold(suspected, &health.ClientEvent{Kind: health.Evicted, Server: simlnd.NID(0), Incarnation: suspectedIncarnation})
}

// TestEachDecisionJudged: a cause excuses one eviction, however late servers and the client hear of it. When
// the server that suspended the client has it as a client again, has given the eviction up, or has died without a
// tombstone on its disk, that eviction is over, and the next one needs a cause of its own. That of a master always does.
func TestEachDecisionJudged(t *testing.T) {
	for _, row := range []struct {
		name  string
		then  func(suspicion)
		holds bool
	}{
		{"another server hears of it late", func(s suspicion) { s.tells(1, health.ClientEvicted, health.TimedOut) }, true},
		{"another server has not heard of it", func(s suspicion) {
			s.tells(1, health.ClientRehomed, 0)
			s.tells(2, health.ClientEvicted, health.TimedOut)
		}, true},
		{"withdrawn, and the client hears of it late", func(s suspicion) { s.tells(0, health.ClientRehomed, 0) }, true},
		{"withdrawn, then evicted again", func(s suspicion) {
			s.tells(0, health.ClientRehomed, 0)
			s.tells(0, health.ClientEvicted, health.TimedOut)
		}, false},
		{"connected again, then evicted again", func(s suspicion) {
			s.tells(0, health.ClientEvicted, health.TimedOut)
			s.tells(0, health.ClientConnected, 0)
			s.tells(1, health.ClientEvicted, health.LostMaster)
		}, false},
		{"given up, then another evicts it", func(s suspicion) {
			s.tells(0, health.ClientEvicted, health.LostQuorum)
			s.tells(1, health.ClientEvicted, health.TimedOut)
		}, false},
		{"taken back without a word, then another evicts it", func(s suspicion) {
			s.ends()
			s.tells(1, health.ClientEvicted, health.TimedOut)
		}, false},
		{"its server died, then another evicts it", func(s suspicion) { s.Kill(0); s.tells(1, health.ClientEvicted, health.TimedOut) }, false},
		{"its server died with the tombstone on its disk, then another evicts it", func(s suspicion) {
			s.disks[0].remove(health.Tombstone{Client: clientID(suspected), Incarnation: suspectedIncarnation, Until: wall(time.Hour)})
			s.Kill(0)
			s.tells(1, health.ClientEvicted, health.TimedOut)
		}, true},
		{"another master begins an eviction of its own", func(s suspicion) { s.tells(1, health.ClientSuspended, health.TimedOut) }, false},
		{"another master learns of it", func(s suspicion) { s.tells(1, health.ClientSuspended, health.LostMaster) }, true},
	} {
		s := newSuspicion(t)
		s.later()
		row.then(s)
		s.hears()
		t.Run(row.name, func(t *testing.T) { holds(t, s.network, row.holds, "no-false-eviction") })
	}
}

// TestLossNoExcuse: a loss of one message in twenty is no reason to evict a client; a greater loss is one.
func TestLossNoExcuse(t *testing.T) {
	for _, row := range []struct {
		loss float64
		just bool
	}{{0.02, false}, {0.05, false}, {0.2, true}} {
		s := suspicion{ran(t, standard(3, 1), 50*time.Second), t}
		s.SetLink(sim.AllNodes, sim.AllNodes, link.Change{Fields: link.FieldLoss, To: link.Quality{Loss: row.loss}})
		s.tells(0, health.ClientSuspended, health.TimedOut)
		s.hears()
		holds(t, s.network, row.just, "no-false-eviction")
	}
}
