package gossip

import (
	"io"

	"ulnet/cmd/internal/control"
	"ulnet/gossip"
	"ulnet/lnet/nid"
)

// What the daemon can be asked of gossip.
var (
	OpGossipStatus     = control.Question[control.None, GossipStatus]{Path: "/v1/gossip", Doc: "what gossip knows"}
	OpGossipParams     = control.Question[control.None, GossipParams]{Path: "/v1/gossip/params", Doc: "the parameters"}
	OpGossipHistory    = control.Question[control.None, []GossipChange]{Path: "/v1/gossip/history", Doc: "the last changes, the oldest first"}
	OpGossipExplain    = control.Question[GossipOf, gossip.Explanation]{Path: "/v1/gossip/explain/{nid}", Doc: "why a participant is thought to be alive or dead"}
	OpGossipListStatus = control.Question[control.None, gossip.RollStatus]{Path: "/v1/gossip/list", Doc: "how far a change of the list is"}
	OpGossipInit       = control.Action[GossipInit]{Path: "/v1/gossip/init", Doc: "sets the parameters and the participants, whose NIDs are the data, as text"}
	OpGossipStart      = control.Action[control.None]{Path: "/v1/gossip/start", Doc: "has the node take part"}
	OpGossipStop       = control.Action[control.None]{Path: "/v1/gossip/stop", Doc: "ends that"}
	OpGossipStage      = control.Action[control.None]{Path: "/v1/gossip/list/stage", Doc: "stages a list of participants, whose NIDs are the data, as text"}
	OpGossipCommit     = control.Action[GossipCommit]{Path: "/v1/gossip/list/commit", Doc: "changes to the staged list"}
	OpGossipCancel     = control.Action[control.None]{Path: "/v1/gossip/list/cancel", Doc: "gives the staged list up"}
)

// GossipOf names a participant.
type GossipOf struct {
	NID nid.NID `query:"nid"`
}

// Routes are the operations of gossip.
func (m *Module) Routes() []control.Route {
	return []control.Route{
		OpGossipStatus.Do(control.Told(m.Status)), OpGossipParams.Do(control.Ask(m.Params)),
		OpGossipHistory.Do(control.Told(m.History)), OpGossipListStatus.Do(control.Ask(m.ListStatus)),
		OpGossipExplain.Do(control.Quick(func(r GossipOf) (gossip.Explanation, error) { return m.Explain(r.NID) })),
		OpGossipInit.DoWith(control.With(m.Init)),
		OpGossipStage.DoWith(control.With(func(_ control.None, nids io.Reader) error { return m.Stage(nids) })),
		OpGossipStart.Do(control.Just(m.Start)), OpGossipStop.Do(control.Just(m.Stop)),
		OpGossipCommit.Do(control.Act(m.Commit)), OpGossipCancel.Do(control.Just(m.Cancel)),
	}
}
