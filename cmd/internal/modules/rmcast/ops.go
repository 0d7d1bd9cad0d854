package rmcast

import "ulnet/cmd/internal/control"

// What the daemon can be asked of reliable multicast.
var (
	OpMcastStatus  = control.Question[control.None, McastStatus]{Path: "/v1/mcast", Doc: "what is known of reliable multicast"}
	OpMcastJoin    = control.Action[McastJoin]{Path: "/v1/mcast/join", Doc: "joins a group"}
	OpMcastLeave   = control.Action[McastJoin]{Path: "/v1/mcast/leave", Doc: "leaves a group"}
	OpMcastExpel   = control.Action[McastExpel]{Path: "/v1/mcast/expel", Doc: "has a manager take the members on a node for ended"}
	OpMcastFaults  = control.Action[McastFaults]{Path: "/v1/mcast/faults", Doc: "discards what arrives for a group"}
	OpMcastSend    = control.Command[McastSend, McastSent]{Path: "/v1/mcast/send", Doc: "sends the data to a group, and waits until all members have them", Long: true}
	OpMcastReceive = control.Operation[McastReceive, Step]{Path: "/v1/mcast/receive", Doc: "tells what is delivered"}
	OpMcastBench   = control.Operation[McastBenchRequest, Step]{Path: "/v1/mcast/bench", Doc: "measures a group"}
)

// Routes are the operations of reliable multicast.
func (m *Module) Routes() []control.Route {
	return []control.Route{
		OpMcastStatus.Do(control.Ask(m.Status)), OpMcastJoin.Do(m.Join), OpMcastLeave.Do(m.Leave),
		OpMcastExpel.Do(control.Act(m.Expel)), OpMcastFaults.Do(control.Act(m.SetFaults)), OpMcastSend.DoWith(m.Send),
		OpMcastReceive.Do(m.Receive), OpMcastBench.Do(m.Bench),
	}
}
