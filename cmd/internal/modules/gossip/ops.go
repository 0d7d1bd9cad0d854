package gossip

import (
	"ulnet/cmd/internal/control"
	"ulnet/gossip"
	"ulnet/lnet/nid"
)

// The operations of gossip that the daemon offers to clients.
var (
	OpStatus     = control.Question[control.None, Status]{Path: "/v1/gossip", Doc: "what gossip knows"}
	OpParams     = control.Question[control.None, Params]{Path: "/v1/gossip/params", Doc: "the parameters"}
	OpHistory    = control.Question[control.None, []Change]{Path: "/v1/gossip/history", Doc: "the last changes, the oldest first"}
	OpExplain    = control.Question[Participant, gossip.Explanation]{Path: "/v1/gossip/explain/{nid}", Doc: "why a participant is thought to be alive or dead", Unasked: "is about one NID"}
	OpListStatus = control.Question[control.None, gossip.RollStatus]{Path: "/v1/gossip/list", Doc: "how far a change of the list is"}
	OpInit       = control.Action[InitRequest]{Path: "/v1/gossip/init", Doc: "sets the parameters and the participants, whose NIDs are the data, as text"}
	OpStart      = control.Action[control.None]{Path: "/v1/gossip/start", Doc: "has the node take part"}
	OpStop       = control.Action[control.None]{Path: "/v1/gossip/stop", Doc: "ends that"}
	OpStage      = control.Action[control.None]{Path: "/v1/gossip/list/stage", Doc: "stages a list of participants, whose NIDs are the data, as text"}
	OpCommit     = control.Action[CommitRequest]{Path: "/v1/gossip/list/commit", Doc: "changes to the staged list"}
	OpCancel     = control.Action[control.None]{Path: "/v1/gossip/list/cancel", Doc: "gives the staged list up"}
)

// Participant names a participant.
type Participant struct {
	NID nid.NID `query:"nid"` // the participant that the question is about
}
