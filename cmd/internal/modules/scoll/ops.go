package scoll

import "ulnet/cmd/internal/control"

// The operations of collectives that the daemon offers.
var (
	OpStatus       = control.Question[control.None, Status]{Path: "/v1/scoll", Doc: "what is known of collectives"}
	OpBroadcast    = control.Command[BroadcastRequest, BroadcastReply]{Path: "/v1/scoll/broadcast", Doc: "asks the servers of a group; the data are bulk data for them", Long: true}
	OpBench        = control.Command[BenchRequest, BenchReply]{Path: "/v1/scoll/bench", Doc: "measures the latency of a group", Long: true}
	OpGroupCreate  = control.Action[GroupCreate]{Path: "/v1/scoll/group/create", Doc: "names servers as a group; their NIDs are the data, as text"}
	OpGroupDestroy = control.Action[GroupName]{Path: "/v1/scoll/group/destroy", Doc: "has the node and all members forget a group"}
)
