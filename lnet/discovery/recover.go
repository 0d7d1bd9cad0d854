package discovery

import (
	"slices"
	"sync"
	"syscall"

	"ulnet/lnet"
	"ulnet/lnet/discovery/engine"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/path"
	"ulnet/lnet/recovery"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// recoverer pings the NIs that are not well, of this node and of peers: it steps the
// machine of package recovery with what lnet tells it. Like the agent it has no
// goroutine.
type recoverer struct {
	table *portals.Table
	node  *lnet.Node

	mu       sync.Mutex
	machine  *recovery.Machine // machine of recovery; guarded by mu, like all fields below
	inbox    []recovery.Input
	stepping bool
	out      recovery.Output
	alarm    machine.Alarm
	pings    map[recovery.Target]*Pinger // pings in progress; nil: the ping is just beginning
	closed   bool
}

// newRecoverer returns the recoverer of a node. Its method input has to be called with what lnet tells of health.
func newRecoverer(table *portals.Table) *recoverer {
	node := table.Node()
	r := &recoverer{
		table: table, node: node, machine: recovery.NewMachine(node.Health().Recovery),
		pings: make(map[recovery.Target]*Pinger),
	}
	r.alarm = machine.Alarm{Clock: node.Clock(), Call: func() { r.input(recovery.Input{Kind: recovery.Timer}) }}
	return r
}

// healthChanged tells the recoverer how the health of NIs has changed, or that the settings of health are others. The
// transaction timeout, which the method input gives the machine, is one of these settings.
func (a *Agent) healthChanged(in recovery.Input) {
	a.recoverer.input(in)
	if in.Kind == recovery.Set {
		a.input(engine.Input{Kind: engine.Timer})
	}
}

// input steps the machine with the input in, and with the inputs that result from it. One
// goroutine at a time does so. Inputs of other goroutines wait in the inbox until it has finished;
// their number is bounded by what these goroutines send and receive at the moment.
func (r *recoverer) input(in recovery.Input) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inbox = append(r.inbox, in)
	if r.stepping {
		return
	}
	r.stepping = true
	for len(r.inbox) > 0 && !r.closed {
		in := r.inbox[0]
		r.inbox = r.inbox[1:]
		r.step(in)
	}
	r.inbox, r.stepping = nil, false
}

// step steps the machine once. The caller holds r.mu, which step releases while it calls lnet.
func (r *recoverer) step(in recovery.Input) {
	r.mu.Unlock()
	in = r.complete(in)
	now := r.node.Clock().Now()
	r.mu.Lock()
	if r.closed {
		return
	}
	r.out.Reset()
	r.alarm.Set(now, r.machine.Step(now, in, &r.out))
	r.mu.Unlock()
	for _, t := range r.out.Pings {
		r.ping(t)
	}
	r.mu.Lock()
}

// complete adds the present health of the target to an input.
func (r *recoverer) complete(in recovery.Input) recovery.Input {
	switch in.Kind {
	case recovery.Hurt, recovery.Heard, recovery.Ended:
		health, heard, ok := r.node.Condition(in.Target)
		in.Whole, in.LastHeard = !ok || health == path.MaxHealth, heard
	}
	return in
}

// ping pings a target, unless it is well again or gone.
func (r *recoverer) ping(t recovery.Target) {
	health, _, ok := r.node.Condition(t)
	to, from := t.NID, nid.NID{}
	if t.Local && ok {
		from = t.NID
		to, ok = r.node.Witness(t.NID, r.unanswered(t))
	}
	if !ok || health == path.MaxHealth {
		r.input(recovery.Input{Kind: recovery.Ended, Target: t})
		return
	}
	r.mu.Lock()
	r.pings[t] = nil
	r.mu.Unlock()
	p := StartPing(r.table, nid.ProcessID{NID: to, PID: nid.LustrePID}, PingOptions{Source: from, recovery: true},
		func(wire.PingInfo, error) { r.ended(t) })
	r.mu.Lock()
	_, current := r.pings[t]
	if current {
		r.pings[t] = p
	}
	closed := r.closed
	r.mu.Unlock()
	if current && closed {
		p.Cancel(syscall.ESHUTDOWN)
	}
}

// unanswered returns how many pings of a target got no answer before the present one, which the machine has counted.
func (r *recoverer) unanswered(t recovery.Target) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(r.machine.Of(t).Count-1, 0)
}

// ended is called when a recovery ping has ended. It need not raise the health of the NIs: the
// arrival of an answer has done that.
func (r *recoverer) ended(t recovery.Target) {
	r.mu.Lock()
	delete(r.pings, t)
	r.mu.Unlock()
	r.input(recovery.Input{Kind: recovery.Ended, Target: t})
}

// close ends the pings that are under way, and begins no more.
func (r *recoverer) close() {
	r.node.SetRecoverer(nil)
	r.mu.Lock()
	r.closed = true
	r.alarm.Stop()
	var open []recovery.Target
	for t, p := range r.pings { // any order: the list is sorted below
		if p != nil {
			open = append(open, t)
		}
	}
	slices.SortFunc(open, recovery.Target.Compare)
	var pings []*Pinger
	for _, t := range open {
		pings = append(pings, r.pings[t])
	}
	r.mu.Unlock()
	for _, p := range pings {
		p.Cancel(syscall.ESHUTDOWN)
	}
}

// Recovery is the state of an agent's recovery: the NIs that are not well, and what was done.
type Recovery struct {
	Local []recovery.Status `json:"local"`      // NIs of this node, ordered by NID
	Peers []recovery.Status `json:"peers"`      // NIs of other nodes, ordered by NID
	Stats recovery.Stats    `json:"statistics"` // counters since the node began
}

// Recovery returns the NIs that are being recovered.
func (a *Agent) Recovery() Recovery {
	r := a.recoverer
	r.mu.Lock()
	defer r.mu.Unlock()
	return Recovery{r.machine.Targets(true), r.machine.Targets(false), r.machine.Stats()}
}
