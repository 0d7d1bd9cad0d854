package node

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

func (n *Node) gossipRoutes() []control.Route {
	return []control.Route{
		OpGossipStatus.Do(control.Told(n.GossipStatus)), OpGossipParams.Do(control.Ask(n.GossipParams)),
		OpGossipHistory.Do(control.Told(n.GossipHistory)), OpGossipListStatus.Do(control.Ask(n.GossipListStatus)),
		OpGossipExplain.Do(control.Quick(func(r GossipOf) (gossip.Explanation, error) { return n.GossipExplain(r.NID) })),
		OpGossipInit.DoWith(control.With(n.GossipInit)),
		OpGossipStage.DoWith(control.With(func(_ control.None, nids io.Reader) error { return n.GossipStage(nids) })),
		OpGossipStart.Do(control.Just(n.GossipStart)), OpGossipStop.Do(control.Just(n.GossipStop)),
		OpGossipCommit.Do(control.Act(n.GossipCommit)), OpGossipCancel.Do(control.Just(n.GossipCancel)),
	}
}
