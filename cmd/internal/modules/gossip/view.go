package gossip

import (
	"ulnet/gossip"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// An agent of gossip is a scoll.View itself; view is one while no agent runs, too, and
// after another one has started.
var (
	_ scoll.View = (*gossip.Agent)(nil)
	_ scoll.View = (*view)(nil)
)

// view tells collectives which other servers are alive (scoll.View). While gossip runs it
// says what the agent says; otherwise it says that every server is alive, so that
// collectives try all of them.
type view struct{ Tracker }

// Alive implements scoll.View.
func (v *view) Alive(id nid.NID) (bool, uint64) {
	told, agent, base := v.Look(id)
	if agent == nil {
		return true, told.Deaths
	}
	if _, participant := agent.Explain(id); !participant {
		return true, told.Deaths
	}
	alive, deaths := agent.Alive(id)
	return alive, base + deaths
}

// attach makes an agent the source of the view. A server that was tried while gossip did
// not run counts as alive until the agent says otherwise.
func (v *view) attach(agent *gossip.Agent) { v.Attach(agent) }

// detach takes the agent away when gossip stops. From then on it is unknown which servers
// are alive, so the view declares the dead ones alive: collectives try them too.
func (v *view) detach() {
	v.Detach()
	v.Update(func(_ nid.NID, s Vital) Vital { return Vital{true, s.Deaths} })
}
