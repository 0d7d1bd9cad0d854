package rmcast

import "ulnet/cmd/internal/control"

// The operations of reliable multicast.
var (
	OpStatus  = control.Question[control.None, Status]{Path: "/v1/mcast", Doc: "what is known of reliable multicast"}
	OpJoin    = control.Action[JoinRequest]{Path: "/v1/mcast/join", Doc: "joins a group"}
	OpLeave   = control.Action[JoinRequest]{Path: "/v1/mcast/leave", Doc: "leaves a group"}
	OpExpel   = control.Action[ExpelRequest]{Path: "/v1/mcast/expel", Doc: "has a manager take the members on a node for ended"}
	OpFaults  = control.Action[Faults]{Path: "/v1/mcast/faults", Doc: "discards what arrives for a group"}
	OpSend    = control.Command[SendRequest, SendResult]{Path: "/v1/mcast/send", Doc: "sends the data to a group, and waits until all members have them", Long: true}
	OpReceive = control.Operation[ReceiveRequest, Step]{Path: "/v1/mcast/receive", Doc: "tells what is delivered"}
	OpBench   = control.Operation[BenchRequest, Step]{Path: "/v1/mcast/bench", Doc: "measures a group"}
)
