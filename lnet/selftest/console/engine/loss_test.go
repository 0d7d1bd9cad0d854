package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest/console/engine"
	"ulnet/lnet/selftest/wire"
)

// TestLoss: messages are lost, and two consoles run random commands in random order. Each command ends within ten
// minutes. When the consoles have died, all nodes leave their sessions.
func TestLoss(t *testing.T) {
	spec.Covers(t, "ST-24", "ST-30")
	for seed := range uint64(effort.Of(20, 100, 1000)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { lossy(t, seed) })
	}
}

func lossy(t *testing.T, seed uint64) {
	l := newLab(t, 8, engine.Config{MaxCalls: 4, MaxNodes: 6})
	random := rand.New(rand.NewPCG(seed, 7))
	rate := random.Float64() / 2
	l.lost = func(*host, *host, wire.Service) bool { return random.Float64() < rate }
	for range 60 {
		begin := l.now
		a, id := l.begin(random.IntN(2), randomCommand(random))
		if random.IntN(4) == 0 {
			l.run(time.Duration(random.IntN(10)) * time.Second)
			continue // the next command begins before this one has ended
		}
		if random.IntN(10) == 0 {
			l.run(time.Second)
			l.host(0).stepConsole(engine.Input{Kind: engine.Cancel, ID: id})
		}
		for !a.over {
			if l.run(100 * time.Millisecond); l.now > begin+10*time.Minute {
				t.Fatal("a command does not end")
			}
		}
	}
	l.run(10 * time.Minute)
	for id, a := range l.answers {
		if !a.over {
			t.Errorf("command %d has not ended", id)
		}
	}
	l.host(0).dead, l.host(1).dead = true, true
	l.run(101 * time.Second)
	for i := 2; i < 8; i++ {
		if got := l.host(i).node.Stats().Session; got != wire.NoSession() {
			t.Errorf("node %d has the session %v", i, got)
		}
	}
}

// randomCommand returns some command.
func randomCommand(random *rand.Rand) engine.Command {
	name := func() string { return []string{"g", "h"}[random.IntN(2)] }
	ids := hostIDs(2+random.IntN(6), 2+random.IntN(6), 2+random.IntN(6))
	target := []engine.Target{{Group: name()}, {Session: true}, {Nodes: ids}, {Batch: "batch", Server: random.IntN(2) == 0}}[random.IntN(4)]
	test := ping(name(), name())
	test.Loop, test.Span = int32(random.IntN(4)-1), 1+random.IntN(2)
	states := []engine.State{engine.State(random.IntN(4)), engine.State(random.IntN(4))}
	commands := []engine.Command{
		&engine.AddGroup{Key: key, Name: name(), IDs: ids}, &engine.AddGroup{Key: key, Name: name(), IDs: ids}, &engine.AddNodes{Key: key, Group: name(), IDs: ids},
		&engine.RefreshGroup{Key: key, Group: name()}, &engine.RemoveNodes{Key: key, Group: name(), IDs: ids}, &engine.CleanGroup{Key: key, Group: name(), States: states},
		&engine.DeleteGroup{Key: key, Group: name()}, &engine.AddTest{Key: key, Test: test}, &engine.AddTest{Key: key, Test: test},
		&engine.Run{Key: key, Batch: "batch"}, &engine.Stop{Key: key, Batch: "batch", Force: random.IntN(2) == 0}, &engine.Query{Key: key, Batch: "batch", Test: random.IntN(3)},
		&engine.Ping{Key: key, Target: target}, &engine.Stat{Key: key, Target: target, Timeout: time.Duration(random.IntN(40)) * time.Second},
		&engine.NewSession{Key: key, Name: "s", Features: 1, Force: random.IntN(2) == 0, Timeout: time.Minute}, &engine.NewSession{Key: key, Name: "s", Features: 1},
	}
	if random.IntN(10) == 0 {
		return &engine.EndSession{Key: key}
	}
	return commands[random.IntN(len(commands))]
}
