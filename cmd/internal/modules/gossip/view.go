package gossip

import (
	"time"

	"ulnet/gossip"
	"ulnet/lnet/nid"
	"ulnet/scoll"
	"ulnet/scoll/rmcast"
)

// An agent of gossip is itself a scoll.View. The type view is one, too, and unlike an agent it can
// still be used when the agent is stopped or replaced.
var (
	_ scoll.View     = (*gossip.Agent)(nil)
	_ scoll.View     = (*view)(nil)
	_ rmcast.Certain = (*gossip.Agent)(nil)
	_ rmcast.Certain = (*view)(nil)
)

// view tells collectives which other servers are alive (scoll.View). While gossip runs, its
// answers are those of the agent. Otherwise every server counts as alive, so that collectives
// try all of them. So does each that counted as alive before, while an agent that has begun anew
// cannot judge, because it is silent and the others may be, too.
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
	if !alive && deaths == 0 && told.Alive && agent.Silent() && agent.Unsure() {
		return true, told.Deaths
	}
	return alive, base + deaths
}

// Ended implements rmcast.Certain. While gossip does not run, no death is certain.
func (v *view) Ended(id nid.NID, ago time.Duration) bool {
	agent := v.Agent()
	return agent != nil && agent.Ended(id, ago)
}

// attach makes an agent the source of the view. A server that counted as alive because gossip
// did not run still does, until the agent reports otherwise.
func (v *view) attach(agent *gossip.Agent) { v.Attach(agent) }

// detach removes the agent, because gossip stops. From then on it is unknown which servers are
// alive, so dead ones count as alive, too, and collectives try them.
func (v *view) detach() {
	v.Detach()
	v.Update(func(_ nid.NID, s Vital) Vital { return Vital{true, s.Deaths} })
}
