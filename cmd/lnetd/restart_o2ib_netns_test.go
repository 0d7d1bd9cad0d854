//go:build linux

package main_test

import (
	"testing"
	"time"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/lnd/lndtest/netlab"
)

// recoveryBound bounds the first ping after a crash. If the new incarnation did not send a
// connection request, that ping would fail after 4 s, when the queue pair has used up its
// retries.
const recoveryBound = 3 * time.Second

// recoveryTries is how many crashes the test tries: it fails only if the first ping takes longer than
// recoveryBound after each of them. A busy machine may delay one ping so long. Without the connection
// request, each ping would take too long.
const recoveryTries = 3

// TestPingAfterCrashRDMA kills lnetd with SIGKILL and starts it again. The peer sends its first
// ping over the connection to the dead process, and gets an answer all the same, whichever side
// had opened that connection (docs/o2ib.md, "When a node dies").
func TestPingAfterCrashRDMA(t *testing.T) {
	for _, byPeer := range []bool{true, false} {
		name := "connection made by the process that dies"
		if byPeer {
			name = "connection made by its peer"
		}
		t.Run(name, func(t *testing.T) {
			for try := 1; ; try++ {
				took := pingAfterCrash(t, byPeer)
				if took <= recoveryBound {
					break
				}
				t.Logf("the first ping took %v", took)
				if try == recoveryTries {
					t.Fatalf("the first ping took more than %v in each of %d crashes", recoveryBound, try)
				}
			}
		})
	}
}

// pingAfterCrash connects two nodes, of which one crashes and is started again, and returns how long the
// first ping of the other takes then.
func pingAfterCrash(t *testing.T, byPeer bool) time.Duration {
	t.Helper()
	lab := netlab.New(t)
	a, b := lab.Host("a"), lab.Host("b")
	lab.Cable(a, "10.1.0.1/24", b, "10.1.0.2/24")
	commands := lnetdtest.Build(t)
	start := func(h *netlab.Host) *lnetdtest.Daemon {
		return commands.Start(t, lnetdtest.Config{Networks: "o2ib(eth0)", Port: kernelPort, Within: h.Do})
	}
	peer, dies := start(a), start(b)
	if byPeer {
		mustPing(t, peer, "10.1.0.2@o2ib")
	} else {
		mustPing(t, dies, "10.1.0.1@o2ib")
	}
	dies.Kill()
	start(b)
	began := time.Now()
	mustPing(t, peer, "10.1.0.2@o2ib")
	return time.Since(began)
}
