package healthsim

import (
	"fmt"
	"time"

	"ulnet/health"
	"ulnet/lnd/sim"
)

// buriedBy counts the servers that run and have a tombstone of a life.
func (n *Net) buriedBy(id health.ClientID, incarnation uint64) (count int) {
	for _, w := range n.running(sim.AllNodes) {
		if life, ok := w.Buried(id); ok && life >= incarnation {
			count++
		}
	}
	return count
}

// agreeIn is how long after the last fault all servers agree whether a life of a client
// is connected or evicted (CH-33, G-CH-6).
func (n *Net) agreeIn() time.Duration {
	return max(n.timing.Quorum, 0) + n.timing.Orphan + 2*n.timing.Tick
}

// endIn is how long after its end, and after the last fault, no server knows a client,
// whatever other programs of its node say.
func (n *Net) endIn() time.Duration {
	return max(2*n.timing.Evict, n.timing.Evict+n.timing.Orphan) + 3*n.timing.Tick
}

// Uniform reports whether, once nothing has been done for long enough, no server that
// runs holds a life of a client of which it or another one has a tombstone, nor a client
// that has ended (CH-33, CH-63, CH-64, G-CH-6).
func (n *Net) Uniform() (ok bool, why string) {
	if v := &n.ledger.verdict; v.Revived > 0 {
		return false, v.FirstRevived
	}
	calm := n.Now() - n.truth.touched
	for k := range n.cfg.Clients {
		id := n.firstClient() + sim.NodeID(k)
		if why = n.divided(id, calm); why != "" {
			return false, why
		}
		if ended := n.truth.nodes[id].ended; !n.present(id) && ended > 0 && min(calm, n.Now()-ended) > n.endIn() {
			if why = n.gone(id); why != "" {
				return false, why
			}
		}
	}
	return true, ""
}

// divided says which server holds a life of a client that another one has buried.
func (n *Net) divided(id sim.NodeID, calm time.Duration) string {
	if calm <= n.agreeIn() {
		return ""
	}
	for s, w := range n.running(sim.AllNodes) {
		info, known := w.Client(ClientID(id))
		if !known {
			continue
		}
		for other, o := range n.running(sim.AllNodes) {
			if life, buried := o.Buried(ClientID(id)); buried && life >= info.Incarnation {
				return fmt.Sprintf("at %v a life of client %v is %s at server %v under %s, epoch %d, and server %v has its tombstone",
					n.Now(), id, info.State, s, n.word(info.Master), info.Epoch, other)
			}
		}
	}
	return ""
}
